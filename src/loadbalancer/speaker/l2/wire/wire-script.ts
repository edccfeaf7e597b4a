/**
 * What Node cannot do: raw frames, and datagrams in a namespace that is not our own. It decides nothing. In: `look`, `ignore` an address (its bytes in hex),
 * `tx interface protocol frame`, `join` and `leave` `interface address` (the group in which an IPv6 address is asked for), `answer interface address mac` and
 * `mute interface address`, `lease time` until when it answers (by the monotonic clock), `udp address bytes`, `sync number`. Out: `rx interface frame` for
 * frames that claim or probe an address that is looked at, `asked interface address times` at most once a second, `heard bytes`, `failed interface words`,
 * `deaf words`, `lapsed` when the lease had ended and nothing is answered any more, `synced number`, which follows everything that came in before it was
 * asked for.
 */
export const WIRE_SCRIPT = String.raw`
import ctypes, errno, os, select, socket, struct, sys, time

ARP, IPV6, OUTGOING = 0x0806, 0x86DD, 4
# ICMPv6 135 and 136, the solicitation and the advertisement; all other traffic stays in the kernel.
NEIGHBOURS = [(0x30, 0, 0, 20), (0x15, 0, 4, 58), (0x30, 0, 0, 54), (0x35, 0, 2, 135), (0x25, 1, 0, 136), (6, 0, 0, 65535), (6, 0, 0, 0)]
NOBODY = bytes(4)
EVERYBODY = bytes.fromhex("333300000001" "ff020000000000000000000000000001")
port = int(sys.argv[1])
looked = set()
asked, told = {}, 0
answers, lease = {}, 0.0
members, groups, ignoring = {}, [], {}

def raw(protocol, program=None):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(protocol))
    if program:
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
        s.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HP", len(program), ctypes.addressof(code)))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    s.setblocking(False)
    return s

def datagrams():
    try:
        s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        s.bind(("::", port))
    except OSError as error:
        if error.errno == 98:
            raise
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind(("", port))
    s.setblocking(False)
    return s

def say(*words):
    sys.stdout.write(" ".join(words) + "\n")

def concerns(frame):
    if frame[12:14] == b"\x08\x06":
        return frame[28:32] in looked or (frame[28:32] == NOBODY and frame[38:42] in looked)
    return frame[62:78] in looked

def question(frame):
    if frame[12:14] == b"\x08\x06":
        return frame[38:42] if frame[20:22] == b"\x00\x01" and frame[28:32] != frame[38:42] else None
    return frame[62:78] if frame[54] == 135 else None

def setting(name):
    try:
        with open("/proc/sys/net/ipv4/conf/" + name + "/arp_ignore") as file:
            return file.read().strip()
    except OSError:
        return "0"

def ignores(device):
    until, answer = ignoring.get(device, (0, False))
    if time.monotonic() >= until:
        answer = setting("all") != "0" or setting(device) != "0"
        ignoring[device] = (time.monotonic() + 0.1, answer)
    return answer

def total(data):
    s = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while s > 0xFFFF:
        s = (s & 0xFFFF) + (s >> 16)
    return ~s & 0xFFFF

def reply(device, frame, target, mac):
    if len(target) == 4:
        # Where the kernel may, it has answered.
        if frame[14:20] != b"\x00\x01\x08\x00\x06\x04" or not ignores(device):
            return
        return frame[22:28] + mac + b"\x08\x06" + frame[14:20] + b"\x00\x02" + mac + target + frame[22:32]
    # Only a neighbor's hop limit is whole.
    if len(frame) < 78 or frame[21] != 255 or frame[55] != 0 or frame[22] == 0xFF:
        return
    source, link, to, flags = frame[22:38], frame[6:12], frame[22:38], 0x60
    if source == bytes(16):
        link, to, flags = EVERYBODY[:6], EVERYBODY[6:], 0x20
    elif len(frame) >= 86 and frame[78:80] == b"\x01\x01":
        link = frame[80:86]
    body = struct.pack("!B3x", flags) + target + b"\x02\x01" + mac
    check = total(target + to + struct.pack("!II", len(body) + 4, 58) + struct.pack("!BBH", 136, 0, 0) + body)
    return link + mac + b"\x86\xdd" + struct.pack("!IHBB", 0x60000000, len(body) + 4, 58, 255) + target + to + struct.pack("!BBH", 136, 0, check) + body

# A socket takes some hundred groups. Two addresses may have one in common, and each is probed for and answered for.
def join(device, address, why):
    index, group = socket.if_nametoindex(device), b"\xff\x02" + bytes(9) + b"\x01\xff" + address[13:]
    holders = members.get((index, group))
    if not holders:
        for fresh in (False, True):
            if fresh or not groups:
                groups.append(socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))
            try:
                groups[-1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group + struct.pack("@I", index))
                break
            except OSError as error:
                if fresh or error.errno not in (errno.ENOBUFS, errno.ENOMEM):
                    raise
        holders = members[index, group] = (groups[-1], set())
    holders[1].add((address, why))

def leave(device, address, why):
    index, group = socket.if_nametoindex(device), b"\xff\x02" + bytes(9) + b"\x01\xff" + address[13:]
    s, holders = members.get((index, group), (None, set()))
    holders.discard((address, why))
    if s and not holders:
        del members[index, group]
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_LEAVE_GROUP, group + struct.pack("@I", index))

def grouped(change, device, address, why):
    try:
        if len(address) == 16:
            change(device, address, why)
    except OSError as error:
        if change is join:
            say("failed", device, error.strerror)

def hear(s):
    while True:
        try:
            frame, source = s.recvfrom(2048)
        except BlockingIOError:
            return
        except OSError:
            continue
        if s is udp:
            say("heard", frame.hex())
        elif source[2] != OUTGOING:
            if concerns(frame):
                say("rx", source[0], frame.hex())
            target = question(frame)
            if target in looked:
                asked[source[0], target] = asked.get((source[0], target), 0) + 1
            mac = answers.get((source[0], target))
            answer = mac and time.monotonic() < lease and reply(source[0], frame, target, mac)
            if answer:
                try:
                    wires[0].sendto(answer, (source[0], 0))
                except OSError:
                    pass

def obey(verb, *words):
    global lease
    if verb == "look":
        looked.add(bytes.fromhex(words[0]))
    elif verb == "ignore":
        looked.discard(bytes.fromhex(words[0]))
    elif verb == "sync":
        say("synced", words[0])
    elif verb == "udp" and udp:
        address = words[0] if ":" in words[0] or udp.family == socket.AF_INET else "::ffff:" + words[0]
        try:
            udp.sendto(bytes.fromhex(words[1]), (address, port))
        except OSError:
            pass
    elif verb == "tx":
        try:
            wires[0].sendto(bytes.fromhex(words[2]), (words[0], int(words[1])))
        except OSError as error:
            say("failed", words[0], error.strerror)
    elif verb in ("join", "leave"):
        grouped(join if verb == "join" else leave, words[0], bytes.fromhex(words[1]), "probe")
    elif verb == "answer":
        device, address = words[0], bytes.fromhex(words[1])
        grouped(join, device, address, "answer")
        answers[device, address] = bytes.fromhex(words[2])
    elif verb == "mute":
        mute(words[0], bytes.fromhex(words[1]))
    elif verb == "lease":
        lapse()
        lease = float(words[0])

# Another may have taken what was not answered for. It is asked for again before it is answered for.
def lapse():
    if answers and time.monotonic() >= lease:
        for device, address in list(answers):
            mute(device, address)
        say("lapsed")

def mute(device, address):
    answers.pop((device, address), None)
    grouped(leave, device, address, "answer")

wires = [raw(ARP), raw(IPV6, NEIGHBOURS)]
try:
    udp = datagrams()
except OSError as error:
    udp = None
    say("deaf", error.strerror)
ears = wires + ([udp] if udp else [])
say("ready")
pending = b""
while True:
    sys.stdout.flush()
    ready = select.select([0] + ears, [], [], 1 if asked else None)[0]
    lapse()
    for s in ears:
        hear(s)
    if asked and time.monotonic() >= told + 1:
        for (device, target), times in asked.items():
            say("asked", device, target.hex(), str(times))
        asked.clear()
        told = time.monotonic()
    if 0 in ready:
        chunk = os.read(0, 1 << 16)
        if not chunk:
            break
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            obey(*line.decode().split(" "))
            # Thousands of frames go out at once, and their answers must not be lost meanwhile.
            if line.startswith(b"tx"):
                for s in wires:
                    hear(s)
`;
