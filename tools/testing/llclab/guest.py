# SPDX-License-Identifier: GPL-2.0
"""One QEMU guest: its machine, its command line, its life."""

import ctypes
import enum
import os
import selectors
import signal
import socket
import subprocess
import time

HERE = os.path.dirname(os.path.realpath(__file__))
MARKER = b'llclab: command ended'       # what guest/init writes to the console last
PORTS = ('out', 'err', 'ctl')


def console_end(text):
    """Where the last line that counts ends; 0 as long as it is not complete."""
    marker = text.find(MARKER)
    return text.find(b'\n', marker) + 1 if marker >= 0 else 0


class Machine:
    def __init__(self, line):
        name, sockets, cores, threads, nodes, memory, what = line.strip().split(None, 6)
        self.name, self.what = name, what
        self.sockets, self.cores, self.threads = int(sockets), int(cores), int(threads)
        self.nodes, self.memory = int(nodes), int(memory)
        self.cpus = self.sockets * self.cores * self.threads

    def topology(self):
        """One socket is one LLC in QEMU 7.2 and 10.0; dies= differs between them."""
        args = ['-m', f'{self.memory}M', '-smp',
                f'{self.cpus},sockets={self.sockets},cores={self.cores},threads={self.threads}']
        per_node = self.cpus // self.nodes
        for n in range(self.nodes if self.nodes > 1 else 0):
            args += ['-object', f'memory-backend-ram,id=m{n},size={self.memory // self.nodes}M',
                     '-numa', f'node,nodeid={n},memdev=m{n},cpus={n * per_node}-{(n + 1) * per_node - 1}']
        return args

    # Host seconds, several times of what two cores take that have nothing else to
    # do (128 CPUs: 20 s with wall clock, 84 s with ACCEL=mttcg, 140 s with virtual
    # clock; 12 CPUs: 4, 4 and 10 s).
    def boot_timeout(self, clock):
        return 60 + 4 * self.cpus if clock == 'wall' else 120 + 10 * self.cpus

    def command_timeout(self, clock):
        return (300 + 10 * self.cpus) * (1 if clock == 'wall' else 4)


def machines():
    with open(os.path.join(HERE, 'machines'), encoding='utf-8') as f:
        found = [Machine(line) for line in f if line.strip() and not line.startswith('#')]
    return {m.name: m for m in found}


class End(enum.Enum):
    EXITED = 'COMMAND ended'
    TIMEOUT = 'timeout'
    NO_BOOT = 'the guest did not come up in time'
    DIED_BOOTING = 'the guest died before COMMAND could start'
    DIED = 'the guest died while COMMAND ran'
    NO_CONSOLE = 'the console log is incomplete (disk full?), so kernel reports may be missing'


def die_with_parent(signum):
    """A preexec_fn: the child gets the signal when this process ends, however it ends."""
    libc, parent = ctypes.CDLL(None), os.getpid()

    def child():
        libc.prctl(1, signum)                   # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)
    return child


class Guest:
    def __init__(self, qemu, machine, kernel, initrd, console, clock='wall', accel='tcg', append='',
                 plugin=()):
        self.qemu, self.machine, self.kernel, self.initrd = qemu, machine, kernel, initrd
        self.console, self.clock, self.accel, self.append = console, clock, accel, append
        self.plugin = list(plugin)      # QEMU's arguments for it
        self.status = None              # COMMAND's, once it has ended
        self.process = None
        self.messages = os.memfd_create('llclab-qemu-messages')

    def kernel_args(self):
        # lpj: delay loop calibration of each CPU is most of a boot with TCG.
        args = ['console=ttyS0', 'earlyprintk=serial,ttyS0', 'nokaslr', 'oops=panic', 'panic=-1']
        if self.clock == 'virtual':
            # 1 GHz: one instruction is one nanosecond is one TSC cycle
            args += ['lpj=1000000', 'tsc=reliable', 'tsc_early_khz=1000000', 'no_timer_check']
            # A turn ends at the next timer of any CPU. With all ticks at once, one CPU gets the
            # whole tick and the others nothing, for tens of ms; spread, all get the same.
            args += ['skew_tick=1']
        elif self.accel != 'kvm':
            args += ['lpj=2000000', 'tsc=reliable', 'no_timer_check']
            # All CPUs of a large guest take turns on a few of the host's: slow is no stall.
            args += [f'rcupdate.rcu_cpu_stall_timeout={min(300, 60 + self.machine.cpus)}']
        return ' '.join(args + ([self.append] if self.append else []))

    def arguments(self, ports):
        args = [self.qemu, '-no-user-config', '-nodefaults', '-nic', 'none', '-display', 'none', '-no-reboot',
                '-machine', 'q35', *self.machine.topology(),
                '-kernel', self.kernel, '-initrd', f'/proc/self/fd/{self.initrd}', '-append', self.kernel_args(),
                '-chardev', f'file,id=console,path={self.console.replace(",", ",,")}', '-serial', 'chardev:console',
                # ioeventfd=off: a write of the guest is handled at once, not when the
                # host's main loop comes round, which would differ from run to run.
                '-device', 'virtio-serial-pci,ioeventfd=off']
        for name, sock in zip(PORTS, ports):
            args += ['-chardev', f'socket,id={name},fd={sock.fileno()}',
                     '-device', f'virtserialport,chardev={name},name=llclab.{name}']
        if self.accel == 'kvm':
            args += ['-accel', 'kvm', '-cpu', 'host']
        else:
            # No random numbers from the CPU: they would differ from run to run.
            args += ['-cpu', 'Haswell-noTSX,-rdrand,-pcid,-invpcid,-x2apic,-tsc-deadline']
            if self.clock == 'virtual':
                args += ['-accel', 'tcg,thread=single', '-icount', 'shift=0,sleep=off',
                         '-rtc', 'base=2026-01-01,clock=vm']
            else:
                args += ['-accel', f'tcg,thread={"multi" if self.accel == "mttcg" else "single"}']
        return args + self.plugin

    def start(self):
        ours, theirs = zip(*(socket.socketpair() for _ in PORTS))
        for sock in theirs:
            # A full socket stops the guest until the host's next turn; rarely, then.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
        self.process = subprocess.Popen(
            self.arguments(theirs), stdin=subprocess.DEVNULL, stdout=self.messages, stderr=self.messages,
            pass_fds=[self.initrd, *(s.fileno() for s in theirs)],
            preexec_fn=die_with_parent(signal.SIGKILL),     # no guest outlives us
            start_new_session=True)                         # Ctrl-C is for us to handle
        for sock in theirs:
            sock.close()
        return dict(zip(PORTS, ours))

    def run(self, timeout, out, err):
        """Boots, streams COMMAND's output to out and err. How it ended (End), its status in self.status."""
        ports = self.start()
        sinks = {'out': out, 'err': err}
        try:
            end = self.stream(ports, sinks, timeout)
        finally:
            self.kill()
        if end is End.EXITED:
            self.cut_console()
        for name, sink in sinks.items():        # what is still on its way
            while data := ports[name].recv(1 << 20):
                sink.write(data)
            sink.flush()
        return end

    def stream(self, ports, sinks, timeout):
        ctl = b''
        deadline = time.monotonic() + self.machine.boot_timeout(self.clock)
        with selectors.DefaultSelector() as selector:
            for name, sock in ports.items():
                selector.register(sock, selectors.EVENT_READ, name)
            while (left := deadline - time.monotonic()) > 0:
                for key, _ in selector.select(left):
                    data = key.fileobj.recv(1 << 20)
                    if key.data != 'ctl':
                        if not data:
                            selector.unregister(key.fileobj)
                        sinks[key.data].write(data)
                        sinks[key.data].flush()
                        continue
                    if not data:
                        return End.DIED if ctl else End.DIED_BOOTING
                    if not ctl:                 # "start"
                        deadline = time.monotonic() + timeout
                    ctl += data
                    if b'exit' in ctl and ctl.endswith(b'\n'):
                        self.status = int(ctl.split()[-1])
                        return self.wait_console()
        return End.TIMEOUT if ctl else End.NO_BOOT

    def wait_console(self):
        """Console messages are written in order: with the last one there, none is missing."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with open(self.console, 'rb') as f:
                if console_end(f.read()):
                    return End.EXITED
            if self.process.poll() is not None:
                return End.DIED
            time.sleep(0.02)
        return End.NO_CONSOLE

    def cut_console(self):
        """What comes after the last message depends on how soon the guest was killed."""
        with open(self.console, 'rb+') as f:
            end = console_end(f.read())
            if end:
                f.truncate(end)

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def console_text(self):
        with open(self.console, encoding='utf-8', errors='replace', newline='\n') as f:
            return f.read().replace('\r', '')

    def qemu_messages(self):
        os.lseek(self.messages, 0, os.SEEK_SET)
        text = os.read(self.messages, 1 << 16).decode(errors='replace').strip()
        return f'\nQEMU says:\n{text}' if text else ''


def kvm_boots(qemu, kernel, initrd):
    """Whether a guest really comes up with KVM. That /dev/kvm opens proves nothing."""
    if not os.access('/dev/kvm', os.R_OK | os.W_OK):
        return False
    probe = Guest(qemu, machines()['one'], kernel, initrd, os.devnull, accel='kvm')
    probe.machine.boot_timeout = lambda clock: 20
    probe.wait_console = lambda: End.EXITED
    with open(os.devnull, 'wb') as null:
        return probe.run(10, null, null) is End.EXITED
