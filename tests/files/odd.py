"""What may stand where a file was expected."""
import os
import socket
import stat

TERABYTE = 1 << 40


def fifo(path):
    os.mkfifo(path)


def a_socket(path):
    # Its path may have 107 bytes at most.
    folder, name = os.path.split(path)
    before = os.getcwd()
    os.chdir(folder)
    try:
        server = socket.socket(socket.AF_UNIX)
        server.bind("s")
        os.rename("s", name)
        server.close()
    finally:
        os.chdir(before)


def endless(path):
    os.symlink("/dev/zero", path)


def block_device(path):
    os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(240, 200))


def full(path):
    os.symlink("/dev/full", path)


def terminal(path):
    os.symlink("/dev/tty", path)


def link_to_fifo(path):
    os.mkfifo(path + ".target")
    os.symlink(path + ".target", path)


def nowhere(path):
    os.symlink(path + ".is_not_there", path)


def loop(path):
    os.symlink(path, path)


def folder(path):
    os.mkdir(path)


def link_to_folder(path):
    os.symlink("/", path)


def terabyte(path):
    """A file of a terabyte of zeros that takes no room."""
    with open(path, "wb") as stream:
        stream.truncate(TERABYTE)


NOT_FILES = {"FIFO": fifo, "socket": a_socket, "zero": endless, "full": full, "tty": terminal,
             "link-to-FIFO": link_to_fifo, "nowhere": nowhere, "loop": loop, "folder": folder,
             "link-to-folder": link_to_folder}
ALL = dict(NOT_FILES, terabyte=terabyte)


def make(kind, path):
    """Puts it at `path`, in place of what is there."""
    path = str(path)
    if os.path.lexists(path):
        os.unlink(path)
    ALL[kind](path)
