#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A linker of CUDA machine code with nvlink's options, as far as Clang gives them, made of the library
nvJitLink: PyPI has that library and ptxas for CUDA 12, but not the program nvlink. Lies as bin/nvlink in the
folder that `./dev deps cuda12` fills."""
import ctypes
import os
import sys


def main(words):
    out, arch, inputs = None, None, []
    words = iter(words)
    for word in words:
        if word == "-o":
            out = next(words)
        elif word == "-arch":
            arch = next(words)
        elif word == "-L":
            next(words)
        elif not word.startswith("-"):
            inputs.append(word)
    if not out or not arch or not inputs:
        sys.exit("nvlink: give -o FILE -arch sm_NN and files to link")
    home = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    library = ctypes.CDLL(os.path.join(home, "lib", "libnvJitLink.so.12"))

    def function(name):  # the library exports each function under its version as well
        return getattr(library, name, None) or getattr(library, "__" + name + "_12_0")

    handle = ctypes.c_void_p()

    def call(name, *arguments):
        status = function(name)(*arguments)
        if status == 0:
            return
        log = ctypes.create_string_buffer(1)
        if handle and name != "nvJitLinkCreate":
            length = ctypes.c_size_t()
            function("nvJitLinkGetErrorLogSize")(handle, ctypes.byref(length))
            log = ctypes.create_string_buffer(length.value + 1)
            function("nvJitLinkGetErrorLog")(handle, log)
        sys.exit("nvlink: %s gave %d: %s" % (name, status, log.value.decode(errors="replace")))

    options = (ctypes.c_char_p * 1)(("-arch=" + arch).encode())
    call("nvJitLinkCreate", ctypes.byref(handle), 1, options)
    cubin, library_kind = 1, 6  # NVJITLINK_INPUT_CUBIN, _LIBRARY
    names = [path.encode() for path in inputs]  # messages read them later
    for path, name in zip(inputs, names):
        with open(path, "rb") as file:
            data = file.read()
        kind = library_kind if data[:8] == b"!<arch>\n" else cubin
        call("nvJitLinkAddData", handle, kind, data, ctypes.c_size_t(len(data)), name)
    call("nvJitLinkComplete", handle)
    size = ctypes.c_size_t()
    call("nvJitLinkGetLinkedCubinSize", handle, ctypes.byref(size))
    linked = ctypes.create_string_buffer(size.value)
    call("nvJitLinkGetLinkedCubin", handle, linked)
    with open(out, "wb") as file:
        file.write(linked.raw[: size.value])


if __name__ == "__main__":
    main(sys.argv[1:])
