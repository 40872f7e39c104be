#!/usr/bin/env python3
"""Reads a trace in Lifetrace's format and prints what it tells, a line each.

Written from docs/format.md alone, section by section, to show that the document is enough. It shares
nothing with the library, takes no care to be fast, and stops at the first thing that it does not expect.
"""

import sys
import zlib

M32, M64 = (1 << 32) - 1, (1 << 64) - 1


# Packets


def packets(data):
    at = 0
    while at < len(data):
        assert data[at : at + 4] == b"\xf5LT\x1a", f"no sync mark at {at}"
        kind = data[at + 4]
        length = int.from_bytes(data[at + 5 : at + 8], "little")
        checksum = int.from_bytes(data[at + 8 : at + 12], "little")
        payload = data[at + 12 : at + 12 + length]
        assert zlib.crc32(data[at + 4 : at + 8] + payload) == checksum, f"checksum at {at}"
        yield kind, at, payload
        at += 12 + length


class Plain:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        assert self.at + count <= len(self.data)
        self.at += count
        return self.data[self.at - count : self.at]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self):
        return unfold(self.varint())

    def string(self):
        return self.take(self.varint()).decode()

    def u64(self):
        return int.from_bytes(self.take(8), "little")


def unfold(value):
    return -(value // 2) - 1 if value % 2 else value // 2


# The entropy coder


class Decoder:
    def __init__(self, stream):
        self.stream, self.at, self.range = stream, 8, M64
        self.value = int.from_bytes(stream[:8].ljust(8, b"\0"), "big")

    def renormalise(self):
        if self.range < 1 << 32:
            word = self.stream[self.at : self.at + 4].ljust(4, b"\0")
            self.value = self.value << 32 | int.from_bytes(word, "big")
            self.range <<= 32
            self.at += 4

    def bit(self, probability):
        bound = (self.range >> 16) * probability
        yes = self.value < bound
        if yes:
            self.range = bound
        else:
            self.value -= bound
            self.range -= bound
        self.renormalise()
        return int(yes)

    def raw(self, count):
        value = 0
        while count > 0:
            step = min(count, 16)
            count -= step
            self.range >>= step
            part = self.value // self.range
            self.value -= part * self.range
            self.renormalise()
            value |= part << count
        return value


# Probabilities, trees, numbers, mixing


class Probability:
    __slots__ = ("p", "n")

    def __init__(self):
        self.p, self.n = 1 << 21, 0

    def value(self):
        return self.p >> 6

    def learn(self, bit):
        target = 65504 << 6 if bit else 32 << 6
        self.p += ((target - self.p) * (131072 // (2 * self.n + 3))) >> 16
        self.n = min(self.n + 1, 255)

    def code(self, decoder):
        bit = decoder.bit(self.value())
        self.learn(bit)
        return bit


class Table(dict):
    """Probabilities that are made when they are first looked at."""

    def __missing__(self, key):
        self[key] = Probability()
        return self[key]


def tree(table, prefix, bits, decoder):
    node = 1
    for _ in range(bits):
        node = node << 1 | table[prefix, node].code(decoder)
    return node - (1 << bits)


class Number:
    def __init__(self, learnt, mostly_zero=False):
        self.learnt, self.zero, self.table = learnt, Probability() if mostly_zero else None, Table()

    def code(self, decoder):
        if self.zero and self.zero.code(decoder):
            return 0
        length = tree(self.table, "length", 5, decoder)
        if length == 0:
            return 0
        if length == 31:
            return decoder.raw(min(decoder.raw(7), 64))
        learnt = min(length - 1, self.learnt)
        raw = length - 1 - learnt
        top = tree(self.table, length, learnt, decoder)
        return (1 << learnt | top) << raw | decoder.raw(raw)

    def signed(self, decoder):
        return unfold(self.code(decoder))


KNOTS = [
    22, 36, 60, 98, 162, 267, 439, 720, 1179, 1921, 3108, 4971, 7812, 11955, 17625, 24743, 32768,
    40793, 47911, 53581, 57724, 60565, 62428, 63615, 64357, 64816, 65097, 65269, 65374, 65438, 65476,
    65500, 65514,
]  # fmt: skip


def squash(logit):
    knot, part = divmod(logit + 2048, 128)
    return KNOTS[knot] + (((KNOTS[knot + 1] - KNOTS[knot]) * part) >> 7)


def logits():
    table, logit = [], -2047
    for at in range(4096):
        while logit < 2047 and squash(logit) < at * 16 + 8:
            logit += 1
        table.append(logit)
    return table


LOGITS = logits()


class Mixer:
    def __init__(self, inputs, weight):
        self.inputs, self.weight, self.weights = inputs, weight, {}

    def bit(self, decoder, circumstance, inputs):
        weights = self.weights.setdefault(circumstance, [self.weight] * self.inputs)
        total = sum(a * b for a, b in zip(inputs, weights)) >> 16
        mixed = squash(min(max(total, -2047), 2047))
        bit = decoder.bit(mixed)
        error = (bit << 16) - mixed
        for at, logit in enumerate(inputs):
            moved = weights[at] + ((logit * error + 4096) >> 13)
            weights[at] = min(max(moved, -(1 << 19)), 1 << 19)
        return bit

    def opinions(self, decoder, circumstance, probabilities):
        bit = self.bit(decoder, circumstance, [LOGITS[it.value() >> 4] for it in probabilities])
        for it in probabilities:
            it.learn(bit)
        return bit


def hash32(context, thing):
    rotated = (context << 5 | context >> 27) & M32
    return ((rotated ^ thing) * 0x9E3779B1) & M32


# Events


class Live:
    """A list of [id, young, alive], in the order of births."""

    def __init__(self):
        self.slots = []

    def push(self, block_id, young):
        renumbered = len(self.slots) == 65536
        if renumbered:
            kept = [it for it in self.slots if it[2]]
            self.slots = kept[len(kept) - 32768 :] if len(kept) > 49152 else kept
        self.slots.append([block_id, young, True])
        return renumbered

    def next_young(self, start):
        for slot in range(start, len(self.slots)):
            if self.slots[slot][1]:
                return slot
        return None

    def walk(self, slots, skipped):
        for slot in slots:
            if self.slots[slot][2]:
                if skipped == 0:
                    return slot
                skipped -= 1
        raise AssertionError("the distance to a living block")


class Events:
    def __init__(self, next_id, actor, living):
        self.live = Live()
        for block_id, young in living:
            self.live.push(block_id, young)
        self.young = sum(young for _, young in living)
        self.first_young = 0
        self.next_id, self.actors = next_id, [actor]
        self.expected_from = self.last_subject = self.history = self.directed = 0
        self.classes, self.last_class, self.table = [], 0, Table()
        self.waits = [Number(1), Number(1), Number(1, True), Number(1, True)]
        self.sizes = [Number(6) for _ in range(16)]
        self.distances = [Number(2, True) for _ in range(3)]
        self.samples, self.actor_rank = Number(2), Number(3)
        self.new_class, self.far_id, self.thread = Number(0), Number(0), Number(0)
        self.domain, self.jump, self.back = Number(0), Number(0), Number(0)

    def expected(self):
        if self.young == 0:
            return None
        found = self.live.next_young(max(self.expected_from, self.first_young))
        if self.expected_from <= self.first_young and found is not None:
            self.first_young = found
        return found

    def step(self, decoder):
        expected = self.expected()
        last = self.history & 3
        crowd = int(expected is not None) if last else 2 + min(self.young // 4, 13)
        if self.table["birth", (self.history & 63) << 4 | crowd].code(decoder):
            return self.birth(decoder)
        if expected is not None:
            recent = self.history & 15
            if self.table["dies", recent].code(decoder):
                return self.change(self.wait(decoder, 2), expected, False)
            if self.table["promoted", recent].code(decoder):
                return self.change(self.wait(decoder, 2), expected, True)
        self.directed = 1 - self.table["change", self.directed * 4 + last].code(decoder)
        return self.directive(decoder) if self.directed else self.other_change(decoder)

    def wait(self, decoder, kind):
        return self.waits[kind + (self.history & 3 != 0)].code(decoder)

    def birth(self, decoder):
        wait = self.wait(decoder, 0)
        known = min(len(self.classes), 15)
        place = 0
        while place < known and not self.table["class", self.last_class, place].code(decoder):
            place += 1
        if place == known:
            self.classes[place:] = [self.new_class.code(decoder)]
        self.last_class = place
        kinds = self.classes[place]
        size = self.sizes[place].code(decoder)
        samples = self.samples.code(decoder) if kinds & 32 else 1
        block_id, young = self.next_id, kinds & 3 == 0
        if self.live.push(block_id, young):
            self.last_subject = self.first_young = 0
            self.young = sum(it[1] for it in self.live.slots[:-1])
        if young:
            if self.young == 0:
                self.first_young = len(self.live.slots) - 1
            self.young += 1
        self.next_id = (self.next_id + 1) & M64
        self.expected_from, self.history = 0, self.history << 2 & 255
        return "birth", wait, block_id, kinds, size, samples

    def change(self, wait, slot, promotion):
        block = self.live.slots[slot]
        self.young -= block[1]
        block[1] = False
        if not promotion:
            block[2] = False
        self.expected_from, self.last_subject = slot + 1, slot
        self.history = (self.history << 2 | (1 if promotion else 2)) & 255
        return "promotion" if promotion else "collection", wait, block[0]

    def other_change(self, decoder):
        wait = self.wait(decoder, 2)
        if self.table["tracked"].code(decoder):
            way = tree(self.table, "way", 2, decoder)
            distance = self.distances[way].code(decoder)
            end = len(self.live.slots)
            slots = [
                range(self.last_subject + 1, end),
                range(self.last_subject - 1, -1, -1),
                range(end - 1, -1, -1),
            ][way]
            slot = self.live.walk(slots, distance)
            return self.change(wait, slot, bool(self.table["other promoted"].code(decoder)))
        block_id = (self.next_id - self.far_id.signed(decoder)) & M64
        promotion = bool(self.table["other promoted"].code(decoder))
        self.history = (self.history << 2 | (1 if promotion else 2)) & 255
        return "promotion" if promotion else "collection", wait, block_id

    def directive(self, decoder):
        which = tree(self.table, "directive", 2, decoder)
        if which == 0:
            return ("actor", self.actor(decoder))
        if which == 1:
            self.next_id = (self.next_id + self.jump.signed(decoder)) & M64
            return ("next id",)
        if which == 2:
            return ("back", self.back.code(decoder))
        return ("fact",)

    def actor(self, decoder):
        rank = self.actor_rank.code(decoder)
        assert rank <= len(self.actors)
        if rank == len(self.actors):
            actor = self.thread.code(decoder), self.domain.code(decoder)
            del self.actors[63:]
        else:
            actor = self.actors.pop(rank)
        self.actors.insert(0, actor)
        return actor


# Backtraces

NONE = object()


class History:
    """All symbols, and where the last three were last followed by something."""

    def __init__(self):
        self.symbols, self.places, self.lengths = [None], {}, Number(4)

    def look(self, stack):
        place = context(stack, 3) >> 16
        found = self.places.get(place)
        self.places[place] = len(self.symbols)
        return found if found and len(self.symbols) - found < 65536 else None


def context(stack, count):
    result = 0x11
    for symbol in ([0, 0, 0] + stack)[: -1 - count : -1]:
        result = hash32(result, symbol)
    return result


class Backtraces:
    def __init__(self, major):
        self.stack, self.known, self.parked = [], 0, []
        self.table, self.candidates = Table(), {}
        self.kept, self.followed = Mixer(2, 1 << 15), Mixer(3, 26214)
        self.history = History() if major >= 2 else None
        self.cuts, self.more = [0], Number(4)

    def switch(self, before, after):
        if before == after:
            return
        found = [it for it in self.parked if it[0] == after]
        self.parked = [it for it in self.parked if it[0] != after]
        self.parked = [(before, self.stack[:4096])] + self.parked[:63]
        self.stack = found[0][1] if found else list(self.stack)

    def code(self, decoder, size):
        size = min(size, M32)
        old = len(self.stack)
        common = self.common(decoder, size)
        excluded = self.stack[common] if common < old else NONE
        del self.stack[common:]
        history = self.history
        place, streak = history and history.look(self.stack), 0
        while True:
            if streak == 8:
                for _ in range(history.lengths.code(decoder)):
                    symbol = history.symbols[place]
                    history.symbols.append(symbol)
                    place += 1
                    if symbol:
                        self.stack.append(symbol)
                        history.look(self.stack)
                if history.symbols[-1] == 0:
                    return
                excluded, place, streak = history.symbols[place], None, 0
            symbol = self.symbol(decoder, size, excluded)
            excluded = NONE
            if history:
                history.symbols.append(symbol)
            if symbol == 0:
                return
            self.stack.append(symbol)
            if history:
                found = history.look(self.stack)
                if place and history.symbols[place] == symbol:
                    place, streak = place + 1, streak + 1
                else:
                    place, streak = found, 0

    def common(self, decoder, size):
        innermost, inner = self.stack[-1] if self.stack else 0, 0
        for depth in range(len(self.stack), 0, -1):
            frame = self.stack[depth - 1]
            if self.history and len(self.stack) - depth == 16:
                return self.cut(decoder, depth)
            place = hash32(hash32(0x71, frame), inner)
            sized = hash32(hash32(place ^ 0x72, innermost), size)
            opinions = [self.table[place >> 16], self.table[sized >> 16]]
            if self.kept.opinions(decoder, min(len(self.stack) - depth, 2), opinions):
                return depth
            inner = frame
        return 0

    def cut(self, decoder, depth):
        for rank, cut in enumerate(self.cuts):
            if cut <= depth and self.table["cut", rank].code(decoder):
                self.cuts.insert(0, self.cuts.pop(rank))
                return cut
        self.cuts = [depth - self.more.code(decoder)] + self.cuts[:3]
        return self.cuts[0]

    def symbol(self, decoder, size, excluded):
        first, second, third = (context(self.stack, count) for count in (1, 2, 3))
        orders = [hash32(second ^ 0x51, size), third, second, first]
        asked = [excluded]
        for number, order in enumerate(orders):
            tag, symbols = self.candidates.get(order >> 16, (None, ()))
            for rank, symbol in enumerate(symbols if tag == order & 0xFFFF else ()):
                if symbol in asked:
                    continue
                asked.append(symbol)
                circumstance = (12 if excluded is not NONE else 0) + number * 3 + rank
                contexts = orders[0], orders[1], orders[3]
                opinions = [self.table[hash32(it, symbol) >> 16] for it in contexts]
                if self.followed.opinions(decoder, circumstance, opinions):
                    self.note(orders[: number + 1], symbol)
                    return symbol
        symbol = self.unforeseen(decoder)
        self.note(orders, symbol)
        return symbol

    def unforeseen(self, decoder):
        if self.table["new", bool(self.stack)].code(decoder):
            self.known += 1
            return self.known
        if self.table["end"].code(decoder):
            return 0
        bits, node = self.known.bit_length(), 1
        for _ in range(bits):
            at = hash32(hash32(0x91, bits), node) >> 16
            node = node << 1 | self.table[at].code(decoder)
        return node - (1 << bits)

    def note(self, orders, symbol):
        for order in orders:
            tag, symbols = self.candidates.get(order >> 16, (None, ()))
            symbols = list(symbols) if tag == order & 0xFFFF else []
            if symbol in symbols:
                symbols.remove(symbol)
            self.candidates[order >> 16] = order & 0xFFFF, [symbol] + symbols[:2]


# Frames


class Text:
    def __init__(self):
        self.history, self.places = bytearray(b"\xff"), {}
        self.table, self.copies, self.mixer = Table(), Table(), Mixer(6, 1 << 14)

    def name(self, decoder, kind, example):
        start = len(self.history)
        source, length = example, 1 if example else 0
        last, word = kind, kind
        while True:
            byte = self.byte(decoder, source, length, last, word)
            count = len(self.history) - start
            self.history.append(byte)
            last = (last << 8 | byte) & M32
            alphanumeric = byte < 128 and chr(byte).isalnum()
            word = hash32(word if alphanumeric else 0, byte)
            if source and self.history[source] == byte:
                source, length = source + 1, min(length + 1, 15)
            else:
                source, length = 0, 0
            if count >= 3:
                place = hash32(0, last) >> 18
                if not source and self.places.get(place):
                    source, length = self.places[place], 1
                self.places[place] = len(self.history)
            if byte == 255:
                return self.history[start:-1].decode(), start

    def byte(self, decoder, source, length, last, word):
        contexts = [hash32(n, last & (1 << 8 * n) - 1) for n in (1, 2, 3, 4)] + [hash32(5, word)]
        expected = self.history[source] | 256 if source else 0
        node = 1
        for bit in range(7, -1, -1):
            guess = expected >> bit & 1 if expected and expected >> bit + 1 == node else None
            if guess is None:
                length = 0
            opinions = [self.table[hash32(it, node) >> 16] for it in contexts]
            inputs = [LOGITS[it.value() >> 4] for it in opinions]
            trust = LOGITS[self.copies[length].value() >> 4]
            inputs.append(0 if guess is None else trust if guess else -trust)
            answer = self.mixer.bit(decoder, length, inputs)
            for it in opinions:
                it.learn(answer)
            if guess is not None:
                self.copies[length].learn(guess == answer)
            node = node << 1 | answer
        return node & 255


class Function:
    def __init__(self, name, example):
        self.name, self.example, self.line = name, example, 0


class File:
    def __init__(self, name, example):
        self.name, self.example, self.line = name, example, 0
        self.recent, self.codes = [], {}


class Frames:
    def __init__(self):
        self.text, self.recent, self.table = Text(), [], Table()
        self.last_code, self.kind = 0, (0, 0)
        self.count, self.kind_number, self.module = Number(2), Number(3), Number(3)
        self.code_high, self.file_rank = Number(2), Number(3, True)
        self.function_rank = [Number(3, True), Number(3, True)]
        self.lines, self.start, self.end = [Number(3) for _ in range(3)], Number(6), Number(5)

    def frame(self, decoder):
        count = self.count.code(decoder)
        if not self.table["same kind"].code(decoder):
            self.kind = self.kind_number.code(decoder), self.module.code(decoder)
        files, locations = [], []
        for index in range(count):
            file, location = self.location(decoder, index > 0)
            files.append(file)
            locations.append(location)
        code = self.code(decoder, files and files[0], locations and locations[0][1])
        return code, self.kind, locations

    def location(self, decoder, inlined):
        rank = self.file_rank.code(decoder)
        if rank:
            file = self.recent.pop(rank - 1)
        else:
            example = self.recent[0].example if self.recent else 0
            file = File(*self.text.name(decoder, 1, example))
        last = self.recent[0].recent[0].example if self.recent else 0
        self.recent.insert(0, file)
        rank = self.function_rank[not file.recent].code(decoder)
        if rank:
            function, context = file.recent.pop(rank - 1), int(inlined)
            base = function.line
        else:
            example = file.recent[0].example if file.recent else last
            function, context = Function(*self.text.name(decoder, 2, example)), 2
            base = file.line
        file.recent.insert(0, function)
        line = file.line = function.line = base + self.lines[context].signed(decoder)
        start = self.start.code(decoder)
        end = start + self.end.signed(decoder)
        return file, (file.name, line, start, end, function.name)

    def code(self, decoder, file, line):
        if self.table["next"].code(decoder):
            code = (self.last_code + 1) & M64
        else:
            base = self.near(file.codes, line) if file and file.codes else self.last_code
            high = ((base >> 2) + self.code_high.signed(decoder)) & (1 << 62) - 1
            code = high << 2 | tree(self.table, "low", 2, decoder)
        self.last_code = code
        if file:
            file.codes[line] = code
        return code

    @staticmethod
    def near(codes, line):
        return codes[min(codes, key=lambda it: (abs(it - line), it > line))]


# Facts


class Facts:
    def __init__(self):
        self.wait, self.tag, self.length = Number(4), Number(4), Number(4)
        self.table, self.mixer = Table(), Mixer(3, 1 << 15)
        self.counters, self.collector, self.module = [0] * 7, [0] * 8, 0

    def fact(self, decoder):
        wait, tag = self.wait.code(decoder), self.tag.code(decoder)
        data, past, kind = bytearray(), 0, hash32(0, tag)
        for place in range(self.length.code(decoder)):
            contexts = [
                hash32(kind, min(place, 31)),
                hash32(kind ^ 1, past & 0xFF),
                hash32(2, past & 0xFFFFFF),
            ]
            node = 1
            for _ in range(8):
                opinions = [self.table[hash32(it, node) >> 18] for it in contexts]
                node = node << 1 | self.mixer.opinions(decoder, 0, opinions)
            data.append(node & 255)
            past = (past << 8 | node & 255) & M32
        return wait, self.fields(tag, Plain(bytes(data)))

    def fields(self, tag, plain):
        string, varint, signed = plain.string, plain.varint, plain.signed
        byte = lambda: plain.take(1)[0]

        def figures(last):
            known = byte()
            for at in range(len(last)):
                if known >> at & 1:
                    last[at] = (last[at] + signed()) & M64
            return [value if known >> at & 1 else "-" for at, value in enumerate(last)]

        if tag == 1:
            return ["counters", *figures(self.counters)]
        if tag == 2:
            return ["thread", varint(), varint(), string()]
        if tag == 3:
            number = varint()
            start = self.module = (self.module + signed()) & M64
            end, bias = (start + varint()) & M64, (start - signed()) & M64
            return ["module", number, start, end, bias, plain.take(varint()).hex(), string()]
        if tag == 4:
            return ["sampler", byte(), byte(), plain.u64(), string()]
        if tag == 5:
            step = byte()
            return ["cycle", step >> 1, step & 1, varint()]
        if tag == 6:
            return ["resize", varint(), byte(), varint()]
        if tag == 7:
            return ["label", string(), string()]
        if tag == 8:
            return ["marker", string()]
        if tag == 9:
            return ["lost", string(), varint()]
        if tag == 10:
            arguments = [string() for _ in range(varint())]
            numbers = [varint() for _ in range(3)]
            names = [string() for _ in range(6)]
            names += [string() if plain.at < len(plain.data) else "" for _ in range(2)]
            return ["process", len(arguments), *arguments, *numbers, *names]
        if tag == 11:
            return ["parent", varint(), string()]
        if tag == 12:
            return ["exit", byte(), signed()]
        if tag == 13:
            return ["clock", varint()]
        if tag == 14:
            told = figures(self.collector)
            standing = byte() if plain.at < len(plain.data) else 0
            young_heap = varint() if plain.at < len(plain.data) else "-"
            return ["collector", *told, young_heap, standing]
        if tag == 15:
            return ["notice", string()]
        if tag == 16:
            return ["count", string(), varint()]
        if tag == 17:
            return ["looked", varint(), varint()]
        if tag == 18:
            holder = [byte()]
            if holder[0] in (2, 5, 6):
                holder.append(string())
            elif holder[0] == 3:
                holder.append(varint())
            blocks = [0]
            for _ in range(varint()):
                blocks.append((blocks[-1] + signed()) & M64)
            return ["held", *holder, *blocks[1:]]
        return ["unknown"]


# The whole


def header(payload):
    plain = Plain(payload)
    major = plain.varint()
    assert major in (1, 2), "major version"
    plain.varint()
    start, rate, word, pid = plain.varint(), plain.u64(), plain.varint(), plain.varint()
    domain = plain.varint()
    names = [plain.string() for _ in range(3)]
    context = [plain.string()] if plain.varint() else []
    return major, ["header", start, rate, word, pid, domain, *names, *context]


class Segment:
    def __init__(self, payload, major):
        plain = Plain(payload)
        self.sequence, self.time = plain.varint(), plain.varint()
        next_id, actor = plain.varint(), (plain.varint(), plain.varint())
        count = plain.varint()
        decoder = Decoder(payload[plain.at :])
        distance, table = Number(2, True), Table()
        living, last, young = [], M64, 0
        for _ in range(count):
            last = (last + 1 + distance.signed(decoder)) & M64
            young = table[young].code(decoder)
            living.append((last, bool(young)))
        self.events = Events(next_id, actor, living)
        self.backtraces, self.frames, self.facts = Backtraces(major), Frames(), Facts()
        self.told = []

    def data(self, payload):
        plain = Plain(payload)
        self.sequence += 1
        assert plain.varint() == self.sequence, "packet number"
        steps, frames = plain.varint(), plain.varint()
        lengths = [plain.varint() for _ in range(3)]
        columns = [plain.take(length) for length in lengths]
        columns.append(payload[plain.at :])
        told, events, backtraces, facts = (Decoder(it) for it in columns)
        for _ in range(frames):
            self.told.append(self.frames.frame(told))
        for _ in range(steps):
            line = self.step(events, backtraces, facts)
            if line:
                yield [self.time, *self.events.actors[0], *line]

    def step(self, events, backtraces, facts):
        before = self.events.actors[0]
        step = self.events.step(events)
        if step[0] == "actor":
            self.backtraces.switch(before, step[1])
        elif step[0] == "back":
            self.time -= step[1]
        elif step[0] == "fact":
            wait, fields = self.facts.fact(facts)
            self.time += wait
            return fields
        elif step[0] == "birth":
            self.time += step[1]
            self.backtraces.code(backtraces, step[4])
            return ["birth", *step[2:], *self.backtrace()]
        elif step[0] != "next id":
            self.time += step[1]
            return [step[0], step[2]]
        return None

    def backtrace(self):
        frames = [self.told[symbol - 1] for symbol in self.backtraces.stack]
        codes = b"".join(code.to_bytes(8, "little") for code, _, _ in frames)
        innermost = frames[-1] if frames else (0, (0, 0), [])
        places = [part for location in innermost[2] for part in location]
        return [len(frames), zlib.crc32(codes), *innermost[1], *places]


def index(plain):
    fields = [plain.varint() for _ in range(9)]
    yield ["index", *fields]
    for _ in range(2 * fields[8]):
        plain.varint()
    if plain.at == len(plain.data):
        return
    truncated, peak = plain.varint(), plain.varint()
    yield ["closing", truncated, peak - 1 if peak else "-"]
    for _ in range(plain.varint()):
        tag = plain.varint()
        yield ["of all", *Facts().fields(tag, Plain(plain.take(plain.varint())))]


def lines(data):
    segment, headers = None, 0
    for kind, _, payload in packets(data):
        if kind == 1 and headers == 0:
            major, line = header(payload)
            yield line
        headers += kind == 1
        if kind == 2:
            segment = Segment(payload, major)
        if kind == 3:
            yield from segment.data(payload)
        if kind == 4:
            plain = Plain(payload)
            yield from index(plain)


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    for line in lines(data):
        print("\t".join(str(field) for field in line))


main()
