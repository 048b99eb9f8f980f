# SPDX-License-Identifier: GPL-2.0
"""Writes cpio archives in the form that the kernel's initramfs reads."""

import os
import stat


class Writer:
    """newc archive; owner root, no times, so that the same input is the same archive."""

    def __init__(self, out):
        self.out = out
        self.ino = 0
        self.made = set()

    def _entry(self, path, mode, size, body=b''):
        name = path.lstrip('/').encode(errors='surrogateescape') + b'\0'
        self.ino += 1
        fields = (self.ino, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, len(name), 0)
        head = b'070701' + b''.join(b'%08x' % f for f in fields) + name
        self.out.write(head + b'\0' * (-len(head) % 4) + body + b'\0' * (-len(body) % 4))

    def _parents(self, path):
        parent = os.path.dirname(path)
        if parent not in ('', '/') and parent not in self.made:
            self._parents(parent)
            self._entry(parent, stat.S_IFDIR | 0o755, 0)
            self.made.add(parent)

    def file(self, path, body, mode):
        self._parents(path)
        if len(body) >> 32:
            raise ValueError('files of 4 GiB and more do not fit into an initramfs')
        self._entry(path, stat.S_IFREG | mode, len(body), body)

    def tree(self, src, dst):
        """The file or folder src of the host, as dst. Links inside of a folder stay links."""
        self._tree(src, dst, os.stat(src))

    def _tree(self, src, dst, st):
        if stat.S_ISDIR(st.st_mode):
            self._parents(dst)
            if dst not in self.made and dst != '/':
                self._entry(dst, stat.S_IFDIR | stat.S_IMODE(st.st_mode), 0)
                self.made.add(dst)
            for name in sorted(os.listdir(src)):
                path = os.path.join(src, name)
                self._tree(path, os.path.join(dst, name), os.lstat(path))
        elif stat.S_ISLNK(st.st_mode):
            target = os.readlink(src).encode(errors='surrogateescape')
            self._parents(dst)
            self._entry(dst, st.st_mode, len(target), target)
        elif stat.S_ISREG(st.st_mode):
            with open(src, 'rb') as f:
                self.file(dst, f.read(), stat.S_IMODE(st.st_mode))
        else:
            raise ValueError(f'{src} is neither a file nor a folder nor a link')

    def end(self):
        self._entry('TRAILER!!!', 0, 0)
