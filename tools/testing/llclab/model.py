# SPDX-License-Identifier: GPL-2.0
"""The cache model of a run: the plugin's arguments, and what its report says."""

import bisect
import json
import os
import subprocess

HERE = os.path.dirname(os.path.realpath(__file__))
PROGRAM = '/kselftest/sched_cache/llc_phase'
PRELOAD = '/usr/lib/llc_phase.so'
COSTS = ('insn', 'llc', 'near', 'far', 'local', 'remote')

FILTERS = """\
filters, separated by commas:
  user, kernel      count only what runs in that mode
  process           count only processes that said so: "llc_phase process" or llc_phase.h
  range=A+LEN       count only accesses to these addresses, virtual ones of the kernel or
                    physical ones; A and LEN as 0x... or decimal
  range=SYMBOL[+LEN]  to this object of the kernel
  count=SYMBOL      count calls of this function of the kernel, too; may be repeated
  top=N             the N lines that moved most between LLCs (default 10)
"""


class Error(Exception):
    pass


class Caches:
    """A line of the table "caches"."""

    def __init__(self, fields):
        numbers = [int(f) for f in fields[1:6]]
        self.l2, self.l2_ways, self.llc, self.llc_ways, self.llcs_per_package = numbers
        self.cost = dict(zip(COSTS, (float(f) for f in fields[6:12])))


def caches(name):
    with open(os.path.join(HERE, 'caches'), encoding='utf-8') as f:
        lines = [line.split() for line in f if line.strip() and not line.startswith('#')]
    table = {line[0]: line for line in lines}
    return Caches(table.get(name) or table['default'])


class Symbols:
    """Those of a vmlinux: name -> (address, size), and back."""

    def __init__(self, vmlinux):
        out = subprocess.run(['nm', '-S', '-n', vmlinux], capture_output=True, text=True, check=True).stdout
        self.by_name, self.addresses, self.names = {}, [], []
        for line in out.splitlines():
            fields = line.split()
            # Without a size: labels, and what lies in the per-CPU area at 0
            if len(fields) != 4 or int(fields[0], 16) < 1 << 63:
                continue
            address, size, name = int(fields[0], 16), int(fields[1], 16), fields[3]
            self.by_name.setdefault(name, (address, size))
            self.addresses.append(address)
            self.names.append((name, size))

    def find(self, name):
        if name not in self.by_name:
            raise Error(f'--model: the kernel has no symbol "{name}" of a fixed address (inlined, or per CPU?)')
        return self.by_name[name]

    def name(self, address):
        i = bisect.bisect_right(self.addresses, address) - 1
        if i >= 0:
            name, size = self.names[i]
            offset = address - self.addresses[i]
            if offset < size:
                return f'{name}+{offset:#x}' if offset else name
        return None


def parse_range(text, symbols):
    start, _, length = text.partition('+')
    try:
        if start[:1].isdigit():
            return int(start, 0), int(start, 0) + int(length, 0)
        address, size = symbols.find(start)
        return address, address + (int(length, 0) if length else size)
    except ValueError as e:
        raise Error(f'--model range={text}: not ADDRESS+LENGTH or SYMBOL[+LENGTH]') from e


class Model:
    def __init__(self, machine, vmlinux, filters, out, build):
        self.machine, self.out = machine, os.path.abspath(out)
        self.caches = caches(machine.name)
        self.plugin = os.path.join(build, 'model/llcmodel.so')
        self.preload = os.path.join(build, 'model/llc_phase.so')
        for path in (self.plugin, self.preload):
            if not os.path.isfile(path):
                raise Error(f'the cache model {path} is not built: make model')
        self.symbols = Symbols(vmlinux)
        self.warning = None
        self.filters = self.parse(filters)

    def parse(self, filters):
        found = {'top': '10'}
        counts = []
        for word in filters.split(',') if filters else []:
            name, eq, value = word.partition('=')
            if name in ('user', 'kernel') and not eq:
                found['mode'] = name
            elif name == 'process' and not eq:
                found['process'] = 'on'
                self.follow_processes(found)
            elif name == 'range' and value:
                found['range'] = '%#x:%#x' % parse_range(value, self.symbols)
            elif name == 'count' and value:
                counts.append(f'count={value}@{self.symbols.find(value)[0]:#x}')
            elif name == 'top' and value.isdigit():
                found['top'] = value
            elif name == 'cpu' and value in ('index', 'env', 'folded', 'blocks'):
                found['cpu'] = value        # for tests of the model
            else:
                raise Error(f'--model: unknown filter "{word}"\n{FILTERS.rstrip()}')
        return [f'{name}={value}' for name, value in found.items()] + counts

    def follow_processes(self, found):
        start, size = self.symbols.find('switch_mm_irqs_off')
        found['switch'] = f'{start:#x}:{start + size:#x}'
        if 'enter_lazy_tlb' in self.symbols.by_name:
            found['lazy'] = f'{self.symbols.find("enter_lazy_tlb")[0]:#x}'
        else:
            self.warning = ('process: this kernel has inlined enter_lazy_tlb(): idle and kernel threads '
                            'count for the process whose address space they borrow')

    def arguments(self):
        m, c = self.machine, self.caches
        options = [f'llcs={m.sockets}', f'cpus_per_llc={m.cores * m.threads}', f'l2={c.l2 << 10}:{c.l2_ways}',
                   f'llc={c.llc << 10}:{c.llc_ways}', f'llcs_per_package={c.llcs_per_package}',
                   f'llcs_per_node={m.sockets // m.nodes}', f'node_shift={self.node_shift()}',
                   f'memory={(2 * m.memory + 4096) << 20}', f'out={self.out.replace(",", ",,")}', *self.filters]
        return ['-plugin', ','.join([self.plugin.replace(',', ',,'), *options])]

    def node_shift(self):
        """Nodes are of a power of two MiB."""
        m = self.machine
        return (m.memory // m.nodes << 20).bit_length() - 1 if m.nodes > 1 else 0

    @staticmethod
    def command(command):
        """COMMAND between the model's start and its report."""
        return f'{PROGRAM} check; bash /llclab/modelled; status=$?; {PROGRAM} report; exit $status', {
            '/llclab/modelled': command}

    def report(self):
        """The plugin's report with sums and costs, also written back."""
        try:
            with open(self.out, encoding='utf-8') as f:
                report = json.load(f)
        except FileNotFoundError as e:
            raise Error('the model wrote no report: did COMMAND end, and does the guest have '
                        f'{PROGRAM} (make guest)?') from e
        if report['trouble']:
            os.unlink(self.out)
            raise Error(f'the model does not know which CPU runs what: {report["trouble"]}. No report')
        report['machine'] = self.machine.name
        report['cost_ns'] = self.caches.cost
        for phase in report['phases']:
            self.add_sums(phase)
        for line in report['top']:
            line['code'] = self.symbols.name(line['pc']) or hex(line['pc'])
            line['data'] = self.symbols.name(line['vaddr']) or hex(line['vaddr'])
        with open(self.out + '.tmp', 'w', encoding='utf-8') as f:
            json.dump(report, f, indent=1)
        os.rename(self.out + '.tmp', self.out)
        return report

    def ns(self, counts):
        cost = self.caches.cost
        return (counts['insns'] * cost['insn'] + counts['llc_hits'] * cost['llc'] +
                (counts['near_clean'] + counts['near_dirty'] + counts['upgrades_near']) * cost['near'] +
                (counts['far_clean'] + counts['far_dirty'] + counts['upgrades_far']) * cost['far'] +
                counts['mem_local'] * cost['local'] + counts['mem_remote'] * cost['remote'])

    def add_sums(self, phase):
        def add(cpus):
            total = {key: sum(c[key] for c in cpus) for key in cpus[0]}
            total['transfers'] = sum(total[k] for k in ('near_clean', 'near_dirty', 'far_clean', 'far_dirty'))
            total['ns'] = round(self.ns(total), 1)
            return total
        cpus = phase['cpus']
        per_llc = self.machine.cores * self.machine.threads
        phase['llcs'] = [add(cpus[i:i + per_llc]) for i in range(0, len(cpus), per_llc)]
        phase['total'] = add(cpus)
        for cpu in cpus:
            cpu['ns'] = round(self.ns(cpu), 1)


def summary(report):
    """The report for people."""
    lines = []
    for phase in report['phases']:
        t = phase['total']
        if not t['insns']:
            continue
        lines.append(f'phase {phase["name"] or "(none)"}')
        accesses = t['loads'] + t['stores'] or 1
        lines.append(f'  instructions {t["insns"]:,} ({100 * t["insns_user"] / t["insns"]:.0f} % user), '
                     f'loads {t["loads"]:,}, stores {t["stores"]:,}')
        for name, value in (('L2 hits', t['l2_hits']), ('LLC hits', t['llc_hits']),
                            ('transfers from another LLC, clean', t['near_clean'] + t['far_clean']),
                            ('  dirty', t['near_dirty'] + t['far_dirty']),
                            ('upgrades, others had the line', t['upgrades_near'] + t['upgrades_far']),
                            ('memory reads, local', t['mem_local']), ('  remote', t['mem_remote'])):
            lines.append(f'  {name:<36} {value:>14,}  {100 * value / accesses:8.4f} %')
        lines.append(f'  invalidations {t["invalidations"]:,}, write-backs {t["write_backs"]:,}, '
                     f'modelled {t["ns"] / 1e6:,.3f} ms of CPU time')
        share = [100 * llc['insns'] / t['insns'] for llc in phase['llcs']]
        lines.append('  instructions by LLC: ' + ' '.join(f'{s:.1f} %' for s in share))
        if phase['ops']:
            lines.append(f'  operations {phase["ops"]:,}: {t["transfers"] / phase["ops"]:.3f} transfers, '
                         f'{t["ns"] / phase["ops"]:.0f} modelled ns each')
        for name, value in phase['counters'].items():
            lines.append(f'  calls of {name}: {value:,}')
    if report['top']:
        lines.append('lines that moved most between LLCs (transfers, upgrades, data, code)')
        for line in report['top']:
            lines.append(f'  {line["transfers"]:>10,} {line["upgrades"]:>10,}  {line["data"]:<32} {line["code"]}')
    for key, text in (('outside', 'accesses beyond the memory of the model'), ('bad_marks', 'marks without a meaning'),
                      ('top_lost', 'moves of lines that had to give way in the table of lines')):
        if report[key]:
            lines.append(f'warning: {report[key]:,} {text}')
    return '\n'.join(lines)
