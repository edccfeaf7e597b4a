/**
 * What Node cannot do: raw frames, and datagrams in a namespace that is not our own. It decides nothing. In: `look`, `ignore` an address (its bytes in hex),
 * `tx interface protocol frame`, `join` and `leave` `interface group`, `udp address bytes`, `sync number`. Out: `rx interface frame` for frames that
 * claim or probe an address that is looked at, `asked interface address times` at most once a second, `heard bytes`, `failed interface words`, `deaf words`, `synced number`, which follows everything
 * that came in before it was asked for.
 */
export const WIRE_SCRIPT = String.raw`
import ctypes, os, select, socket, struct, sys, time

ARP, IPV6, OUTGOING = 0x0806, 0x86DD, 4
# ICMPv6 135 and 136, the solicitation and the advertisement; all other traffic stays in the kernel.
NEIGHBOURS = [(0x30, 0, 0, 20), (0x15, 0, 4, 58), (0x30, 0, 0, 54), (0x35, 0, 2, 135), (0x25, 1, 0, 136), (6, 0, 0, 65535), (6, 0, 0, 0)]
NOBODY = bytes(4)
port = int(sys.argv[1])
looked = set()
asked, told = {}, 0

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

def obey(verb, *words):
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
    elif verb in ("join", "leave") and groups:
        try:
            option = socket.IPV6_JOIN_GROUP if verb == "join" else socket.IPV6_LEAVE_GROUP
            member = bytes.fromhex(words[1]) + struct.pack("@I", socket.if_nametoindex(words[0]))
            groups.setsockopt(socket.IPPROTO_IPV6, option, member)
        except OSError:
            pass

wires = [raw(ARP), raw(IPV6, NEIGHBOURS)]
try:
    udp = datagrams()
except OSError as error:
    udp = None
    say("deaf", error.strerror)
try:
    groups = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
except OSError:
    groups = None
ears = wires + ([udp] if udp else [])
say("ready")
pending = b""
while True:
    sys.stdout.flush()
    ready = select.select([0] + ears, [], [], 1 if asked else None)[0]
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
