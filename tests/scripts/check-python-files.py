# SPDX-License-Identifier: MIT
"""check-python-files.py LIBRARY FOLDER ZLIB - files and DLPack structs exchanged
between the library, called through ctypes, and NumPy, safetensors, PyTorch.

Every check compares dtype, shape and bytes. ZLIB is yes or no: whether the
library has it. Run by check-python-files.sh."""

import ctypes as c
import os
import sys

import numpy as np
import safetensors.numpy as st

try:
    import torch
    import safetensors.torch as st_torch
except ImportError:
    torch = None

tg = c.CDLL(sys.argv[1])
folder = sys.argv[2]
has_zlib = sys.argv[3] == "yes"

# As in tgjit/base.h.
DTYPES = {"bool": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint8": 6,
          "uint16": 7, "uint32": 8, "uint64": 9, "float32": 12, "float64": 13}
NAMES = {number: name for name, number in DTYPES.items()}
SHAPES = [(), (1,), (7,), (0,), (3, 4), (2, 0, 5), (2, 3, 4, 5), (65, 33)]


def declare(result, *names):
    for name in names:
        getattr(tg, name).restype = result


declare(c.c_void_p, "tg_context_create", "tg_tensor_copy", "tg_tensor_data",
        "tg_tensor_dims", "tg_npy_load", "tg_archive_create",
        "tg_archive_load", "tg_archive_get", "tg_csv_load",
        "tg_tensor_to_dlpack", "tg_tensor_to_dlpack_versioned",
        "tg_tensor_from_dlpack", "tg_tensor_from_dlpack_versioned")
declare(c.c_char_p, "tg_error", "tg_archive_name", "tg_archive_metadata")
declare(c.c_size_t, "tg_tensor_bytes", "tg_live_objects", "tg_archive_count")

ctx = c.c_void_p(tg.tg_context_create(None))


def error():
    return tg.tg_error(None).decode()


def path(name):
    return os.path.join(folder, name)


def need(handle, what):
    assert handle, f"{what}: {error()}"
    return c.c_void_p(handle)


def check_status(status, what):
    assert status == 0, f"{what}: {error()}"


def to_tensor(array):
    array = np.array(array, order="C", copy=True)
    dims = (c.c_int64 * max(1, array.ndim))(*array.shape)
    return need(tg.tg_tensor_copy(ctx, array.ctypes.data_as(c.c_void_p),
                                  DTYPES[array.dtype.name], array.ndim, dims),
                "tg_tensor_copy")


def to_array(tensor):
    dtype = np.dtype(NAMES[tg.tg_tensor_dtype(tensor)])
    rank = tg.tg_tensor_rank(tensor)
    dims = c.cast(c.c_void_p(tg.tg_tensor_dims(tensor)),
                  c.POINTER(c.c_int64))[:rank]
    data = c.string_at(c.c_void_p(tg.tg_tensor_data(tensor)),
                       tg.tg_tensor_bytes(tensor))
    return np.frombuffer(data, dtype).reshape(dims)


def check_equal(is_array, want, what):
    is_array = np.asarray(is_array)
    # The library's arrays have the byte order of the machine.
    want = np.asarray(want).astype(np.asarray(want).dtype.newbyteorder("="))
    assert is_array.dtype == want.dtype, f"{what}: {is_array.dtype}"
    assert is_array.shape == want.shape, f"{what}: {is_array.shape}"
    assert is_array.tobytes() == want.tobytes(), f"{what}: other elements"


def samples():
    """(text, array) for all dtypes and shapes, with odd bit patterns."""
    random = np.random.default_rng(1)
    for name in DTYPES:
        dtype = np.dtype(name)
        for shape in SHAPES:
            count = int(np.prod(shape))
            if name == "bool":
                array = random.integers(0, 2, count).astype(bool)
            else:
                array = np.frombuffer(random.bytes(count * dtype.itemsize),
                                      dtype)
            yield f"{name}{list(shape)}", array.reshape(shape)


def take(handle, what):
    """The array of a tensor, which is released."""
    tensor = need(handle, what)
    array = to_array(tensor)
    tg.tg_tensor_release(tensor)
    return array


# -- .npy ---------------------------------------------------------------------

def check_npy():
    file = path("x.npy")
    for what, array in samples():
        for version in [(1, 0), (2, 0), (3, 0)]:
            with open(file, "wb") as out:
                np.lib.format.write_array(out, array, version=version)
            check_equal(take(tg.tg_npy_load(ctx, file.encode()), what), array,
                        f"npy {version} {what}")
        for other in [np.asfortranarray(array),
                      array.astype(array.dtype.newbyteorder(">")),
                      np.asfortranarray(
                          array.astype(array.dtype.newbyteorder(">")))]:
            np.save(file, other)
            check_equal(take(tg.tg_npy_load(ctx, file.encode()), what), other,
                        f"npy {other.dtype.str} {what}")
        tensor = to_tensor(array)
        check_status(tg.tg_npy_save(tensor, file.encode()), what)
        tg.tg_tensor_release(tensor)
        check_equal(np.load(file), array, f"our npy {what}")
        if array.size:
            check_equal(np.load(file, mmap_mode="r"), array,
                        f"our npy, mapped {what}")
    for bad in [np.float16([1]), np.complex64([1]), np.array(["text"]),
                np.zeros(1, [("a", "f4")])]:
        np.save(file, bad)
        assert not tg.tg_npy_load(ctx, file.encode())
        assert "support" in error(), error()


# -- Archives -----------------------------------------------------------------

def load_all(file):
    archive = need(tg.tg_archive_load(ctx, file.encode()), file)
    arrays = {}
    for i in range(tg.tg_archive_count(archive)):
        name = tg.tg_archive_name(archive, c.c_size_t(i))
        tensor = need(tg.tg_archive_get(archive, name), name)
        arrays[name.decode()] = to_array(tensor)
    note = tg.tg_archive_metadata(archive, b"note")
    tg.tg_archive_release(archive)
    return arrays, note.decode() if note is not None else None


def save_all(file, arrays, note=None):
    archive = need(tg.tg_archive_create(ctx), "tg_archive_create")
    for name, array in arrays.items():
        tensor = to_tensor(array)
        check_status(tg.tg_archive_add(archive, name.encode(), tensor), name)
        tg.tg_tensor_release(tensor)
    if note is not None:
        check_status(tg.tg_archive_add_metadata(archive, b"note",
                                                note.encode()), "metadata")
    check_status(tg.tg_archive_save(archive, file.encode()), file)
    tg.tg_archive_release(archive)


def check_same(is_arrays, want, what):
    assert sorted(is_arrays) == sorted(want), f"{what}: {sorted(is_arrays)}"
    for name in want:
        check_equal(is_arrays[name], want[name], f"{what}: {name}")


NOTE = 'quotes " \\ and \u00e4\u4e2d\U0001f600, a tab\t'


def check_no_zlib(file, arrays):
    np.savez_compressed(file, **arrays)
    archive = need(tg.tg_archive_load(ctx, file.encode()), file)
    for name in arrays:
        assert not tg.tg_archive_get(archive, name.encode()), name
        assert "the library was built without zlib" in error(), error()
    tg.tg_archive_release(archive)


def check_npz(arrays):
    file = path("x.npz")
    for save in [np.savez] + [np.savez_compressed] * has_zlib:
        save(file, **arrays)
        check_same(load_all(file)[0], arrays, save.__name__)
    if not has_zlib:
        check_no_zlib(file, arrays)
    save_all(file, arrays, NOTE)
    with np.load(file) as loaded:
        assert "__metadata__.json" in loaded.files
        check_same({name: loaded[name] for name in arrays}, arrays, "our npz")
    is_arrays, note = load_all(file)
    check_same(is_arrays, arrays, "our npz, read by us")
    assert note == NOTE, note


def check_safetensors(arrays):
    file = path("x.safetensors")
    st.save_file(arrays, file, metadata={"note": NOTE})
    is_arrays, note = load_all(file)
    check_same(is_arrays, arrays, "safetensors")
    assert note == NOTE, note
    save_all(file, arrays, NOTE)
    check_same(st.load_file(file), arrays, "our safetensors")
    with st.safe_open(file, framework="numpy") as opened:
        assert opened.metadata() == {"note": NOTE}, opened.metadata()
    is_arrays, note = load_all(file)
    assert list(is_arrays) == list(arrays), "the order is not kept"
    save_all(file, {})
    assert st.load_file(file) == {}

    st.save_file({"good": np.float32([1, 2]), "half": np.float16([1, 2])},
                 file)
    archive = need(tg.tg_archive_load(ctx, file.encode()), file)
    assert tg.tg_archive_get(archive, b"good")
    assert not tg.tg_archive_get(archive, b"half")
    assert "'half'" in error() and "F16" in error(), error()
    tg.tg_archive_release(archive)


def check_torch(arrays):
    file = path("torch.safetensors")
    st_torch.save_file({name: torch.from_numpy(array.copy())
                        for name, array in arrays.items()}, file)
    check_same(load_all(file)[0], arrays, "safetensors.torch")
    save_all(file, arrays)
    loaded = st_torch.load_file(file)
    check_same({name: loaded[name].numpy() for name in loaded}, arrays,
               "our safetensors, by torch")


# -- DLPack -------------------------------------------------------------------

get_pointer = c.pythonapi.PyCapsule_GetPointer
get_pointer.restype, get_pointer.argtypes = c.c_void_p, [c.py_object,
                                                         c.c_char_p]
set_name = c.pythonapi.PyCapsule_SetName
set_name.argtypes = [c.py_object, c.c_char_p]
new_capsule = c.pythonapi.PyCapsule_New
new_capsule.restype = c.py_object
new_capsule.argtypes = [c.c_void_p, c.c_char_p, c.c_void_p]

PLAIN, VERSIONED = b"dltensor", b"dltensor_versioned"
USED = {PLAIN: b"used_dltensor", VERSIONED: b"used_dltensor_versioned"}


def import_capsule(capsule, name):
    pointer = c.c_void_p(get_pointer(capsule, name))
    set_name(capsule, USED[name])  # it is the library's now
    take_over = (tg.tg_tensor_from_dlpack if name == PLAIN
                 else tg.tg_tensor_from_dlpack_versioned)
    return take_over(ctx, pointer)


class Exported:
    """A tensor of the library, as other libraries want to see it."""

    def __init__(self, tensor, versioned):
        self.tensor, self.versioned = tensor, versioned

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **options):
        if self.versioned:
            return new_capsule(tg.tg_tensor_to_dlpack_versioned(self.tensor),
                               VERSIONED, None)
        return new_capsule(tg.tg_tensor_to_dlpack(self.tensor), PLAIN, None)


def has_versions(array):
    try:
        array.__dlpack__(max_version=(1, 0))
        return True
    except TypeError:
        return False


def check_import(array, what):
    """An array of NumPy or PyTorch."""
    want = np.asarray(array)
    check_equal(take(import_capsule(array.__dlpack__(), PLAIN), what), want,
                f"dlpack {what}")
    if has_versions(array):
        capsule = array.__dlpack__(max_version=(1, 0))
        name = VERSIONED if "versioned" in repr(capsule) else PLAIN
        check_equal(take(import_capsule(capsule, name), what), want,
                    f"dlpack 1.0 {what}")


def check_dlpack():
    for what, array in samples():
        array = array.copy()
        check_import(array, what)
        check_import(array.T, what + ".T")
        if array.ndim:
            check_import(array[::-1], what + "[::-1]")
            check_import(array[::2], what + "[::2]")
        tensor = to_tensor(array)
        for versioned in [False, True]:
            # Readers before NumPy 2.1 know one of the structs only.
            if versioned and np.lib.NumpyVersion(np.__version__) < "2.1.0":
                continue
            shared = np.from_dlpack(Exported(tensor, versioned))
            check_equal(shared, array, f"our dlpack {what}")
            del shared
        if torch:
            shared = torch.from_dlpack(Exported(tensor, False))
            check_equal(shared.numpy(), array, f"our dlpack, torch {what}")
            check_import(torch.from_numpy(array), f"torch {what}")
            del shared
        tg.tg_tensor_release(tensor)

    if has_versions(np.zeros(1)):
        array = np.arange(5, dtype=np.float32)
        array.flags.writeable = False
        tensor = need(import_capsule(array.__dlpack__(max_version=(1, 0)),
                                     VERSIONED), "read-only")
        assert tg.tg_tensor_data(tensor) == array.ctypes.data, "a copy"
        assert not tg.tg_tensor_to_dlpack(tensor)
        assert not np.from_dlpack(Exported(tensor, True)).flags.writeable
        tg.tg_tensor_release(tensor)


# -- CSV ----------------------------------------------------------------------

class CsvOptions(c.Structure):
    _fields_ = [("struct_bytes", c.c_size_t), ("has_header", c.c_bool),
                ("allow_empty", c.c_bool), ("delimiter", c.c_char),
                ("dtype", c.c_int)]


def check_csv():
    file = path("x.csv")
    random = np.random.default_rng(2)
    for name in DTYPES:
        dtype = np.dtype(name)
        if name == "bool":
            array = random.integers(0, 2, (300, 5)).astype(bool)
        else:
            array = np.frombuffer(random.bytes(300 * 5 * dtype.itemsize),
                                  dtype).reshape(300, 5).copy()
        if array.dtype.kind == "f":
            array[~np.isfinite(array)] = 1.5
            array[0] = [0.1, -0.0, 1e-7, 12345.678, 3]
            array[1] = [np.finfo(dtype).max, np.finfo(dtype).tiny,
                        np.finfo(dtype).smallest_subnormal, np.inf, -np.inf]
        with open(file, "w") as out:
            out.write("a;b;c;d;e\n")
            for row in array.tolist() if array.dtype.kind != "f" else array:
                out.write(";".join(
                    str(int(x)) if name == "bool" else
                    np.format_float_scientific(x, unique=True)
                    if array.dtype.kind == "f" else str(x) for x in row))
                out.write("\n")
        options = CsvOptions(c.sizeof(CsvOptions), True, False, b";",
                             DTYPES[name])
        check_equal(take(tg.tg_csv_load(ctx, file.encode(), c.byref(options)),
                         f"csv {name}"), array, f"csv {name}")


# -----------------------------------------------------------------------------

def main():
    arrays = {f"layer.{i}/{what}": array
              for i, (what, array) in enumerate(samples())}
    check_npy()
    check_npz(arrays)
    check_safetensors(arrays)
    check_dlpack()
    check_csv()
    if torch:
        check_torch(arrays)
    tg.tg_context_release(ctx)
    left = tg.tg_live_objects()
    assert left == 0, f"{left} objects are alive"
    print("numpy", np.__version__, "torch",
          torch.__version__ if torch else "absent")


main()
