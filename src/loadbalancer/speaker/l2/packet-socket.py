# Raw frames, which Node cannot send or receive, and datagrams in the namespace of the node. It decides nothing: packet-socket.ts starts it and tells it what to do.
#
# In, a line each; addresses, frames and datagrams are in hex:
#   watch ADDRESS, unwatch ADDRESS            report frames about an address, or no longer
#   tx INTERFACE PROTOCOL FRAME               send a frame
#   join|leave INTERFACE ADDRESS              the multicast group in which an IPv6 address is solicited
#   answer INTERFACE ADDRESS MAC              answer requests for the address
#   mute INTERFACE ADDRESS                    stop answering
#   lease TIME                                answer until then, by the monotonic clock
#   udp ADDRESS BYTES [SOURCE]                send a datagram
#   senders ADDRESS...                        report datagrams from these addresses only
#   sync NUMBER                               reported back after everything that came in before
#
# Out:
#   rx INTERFACE FRAME                        a frame that claims or probes an address
#   requests INTERFACE ADDRESS TIMES          requests for an address, at most once a second
#   datagram ADDRESS BYTES                    a datagram of a sender
#   dropped NUMBER                            other datagrams
#   failed INTERFACE REASON                   a frame could not be sent
#   deaf REASON                               datagrams cannot be received
#   lapsed                                    the lease has ended; nothing is answered any more
#   synced NUMBER
import ctypes, errno, os, select, socket, struct, sys, time

ARP, IPV6, OUTGOING = 0x0806, 0x86DD, 4
# ICMPv6 135 and 136, the solicitation and the advertisement; all other traffic stays in the kernel.
NEIGHBORS = [(0x30, 0, 0, 20), (0x15, 0, 4, 58), (0x30, 0, 0, 54), (0x35, 0, 2, 135), (0x25, 1, 0, 136), (6, 0, 0, 65535), (6, 0, 0, 0)]
UNSPECIFIED = bytes(4)
ALL_NODES = bytes.fromhex("333300000001" "ff020000000000000000000000000001")
MAPPED = bytes(10) + b"\xff\xff"
port = int(sys.argv[1])
watched = set()
requests, reported_at = {}, 0
answers, lease = {}, 0.0
members, groups, ignoring = {}, [], {}
# Datagrams: the senders to report, how many of each in this second, and how many were left out.
senders, received, excess, dropped = set(), {}, 0, 0
MAX_PER_SENDER, MAX_AT_ONCE = 20, 64

def raw(protocol, program=None):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(protocol))
    if program:
        restrict(s, program)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    s.setblocking(False)
    return s

def restrict(s, program):
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    s.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HP", len(program), ctypes.addressof(code)))

# The source is at byte 12 of an IPv4 header. Of an IPv6 address the kernel compares the XOR of its four words, and receive_datagrams() all of it.
def from_senders():
    net = 0xFFF00000
    words = [struct.unpack(">%dI" % (len(one) // 4), one) for one in senders]
    tests = [sorted({one[0] for one in words if len(one) == 1}), sorted({one[0] ^ one[1] ^ one[2] ^ one[3] for one in words if len(one) == 4})]
    four, six = [[step for word in tests[at] for step in ((0x15, 0, 1, word), (6, 0, 0, 65535))] + [(6, 0, 0, 0)] for at in (0, 1)]
    load = [(0x20, 0, 0, net + 8)] + [step for at in (12, 16, 20) for step in ((7, 0, 0, 0), (0x20, 0, 0, net + at), (0xAC, 0, 0, 0))]
    head = [(0x30, 0, 0, net), (0x54, 0, 0, 0xF0), (0x15, 1, 0, 0x60), (5, 0, 0, len(load) + len(six))]
    return head + load + six + [(0x20, 0, 0, net + 12)] + four

def listen_to(addresses):
    senders.clear()
    senders.update(addresses)
    try:
        restrict(udp, from_senders())
    except OSError:
        # More addresses than the kernel has room for: receive_datagrams() knows them all.
        try:
            udp.setsockopt(socket.SOL_SOCKET, 27, 0)
        except OSError:
            pass

def address_of(source):
    if udp.family == socket.AF_INET:
        return socket.inet_aton(source[0])
    address = socket.inet_pton(socket.AF_INET6, source[0].partition("%")[0])
    return address[12:] if address.startswith(MAPPED) else address

def receive_datagrams():
    global excess
    for _ in range(MAX_AT_ONCE):
        try:
            data, source = udp.recvfrom(2048)
        except BlockingIOError:
            return
        except OSError:
            continue
        address = address_of(source)
        times = received.get(address, 0)
        if address in senders and times < MAX_PER_SENDER:
            received[address] = times + 1
            emit("datagram", address.hex(), data.hex())
        else:
            excess += 1

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

def emit(*args):
    sys.stdout.write(" ".join(args) + "\n")

def is_about_watched(frame):
    if frame[12:14] == b"\x08\x06":
        return frame[28:32] in watched or (frame[28:32] == UNSPECIFIED and frame[38:42] in watched)
    return frame[62:78] in watched

def target_of(frame):
    if frame[12:14] == b"\x08\x06":
        return frame[38:42] if frame[20:22] == b"\x00\x01" and frame[28:32] != frame[38:42] else None
    # Of a link that is no Ethernet a frame may be shorter.
    return frame[62:78] if frame[54:55] == b"\x87" else None

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

def checksum(data):
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
        link, to, flags = ALL_NODES[:6], ALL_NODES[6:], 0x20
    elif len(frame) >= 86 and frame[78:80] == b"\x01\x01":
        link = frame[80:86]
    body = struct.pack("!B3x", flags) + target + b"\x02\x01" + mac
    check = checksum(target + to + struct.pack("!II", len(body) + 4, 58) + struct.pack("!BBH", 136, 0, 0) + body)
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
            emit("failed", device, error.strerror)

def receive(s):
    while True:
        try:
            frame, source = s.recvfrom(2048)
        except BlockingIOError:
            return
        except OSError:
            continue
        if source[2] != OUTGOING:
            if is_about_watched(frame):
                emit("rx", source[0], frame.hex())
            target = target_of(frame)
            if target in watched:
                requests[source[0], target] = requests.get((source[0], target), 0) + 1
            mac = answers.get((source[0], target))
            answer = mac and time.monotonic() < lease and reply(source[0], frame, target, mac)
            if answer:
                try:
                    raw_sockets[0].sendto(answer, (source[0], 0))
                except OSError:
                    pass

def send(address, text, source=None):
    whole = lambda one: one if ":" in one or udp.family == socket.AF_INET else "::ffff:" + one
    to, data = (whole(address), port), bytes.fromhex(text)
    try:
        if source and udp.family == socket.AF_INET:
            control = [(socket.IPPROTO_IP, 8, struct.pack("@I4s4s", 0, socket.inet_aton(source), UNSPECIFIED))]
        elif source:
            control = [(socket.IPPROTO_IPV6, 50, socket.inet_pton(socket.AF_INET6, whole(source)) + UNSPECIFIED)]
        else:
            control = []
        udp.sendmsg([data], control, 0, to)
    except OSError:
        # The source is an address that others see, and this machine does not have.
        try:
            udp.sendto(data, to)
        except OSError:
            pass

def execute(verb, *args):
    global lease
    if verb == "watch":
        watched.add(bytes.fromhex(args[0]))
    elif verb == "unwatch":
        watched.discard(bytes.fromhex(args[0]))
    elif verb == "sync":
        emit("synced", args[0])
    elif verb == "udp" and udp:
        send(*args)
    elif verb == "senders" and udp:
        listen_to(bytes.fromhex(arg) for arg in args)
    elif verb == "tx":
        try:
            raw_sockets[0].sendto(bytes.fromhex(args[2]), (args[0], int(args[1])))
        except OSError as error:
            emit("failed", args[0], error.strerror)
    elif verb in ("join", "leave"):
        grouped(join if verb == "join" else leave, args[0], bytes.fromhex(args[1]), "probe")
    elif verb == "answer":
        device, address = args[0], bytes.fromhex(args[1])
        grouped(join, device, address, "answer")
        answers[device, address] = bytes.fromhex(args[2])
    elif verb == "mute":
        mute(args[0], bytes.fromhex(args[1]))
    elif verb == "lease":
        lapse()
        lease = float(args[0])

# Another may have taken what was not answered for. It is probed for again before it is answered for.
def lapse():
    if answers and time.monotonic() >= lease:
        for device, address in list(answers):
            mute(device, address)
        emit("lapsed")

def mute(device, address):
    answers.pop((device, address), None)
    grouped(leave, device, address, "answer")

def report_dropped():
    global dropped, excess
    # The kernel counts what its filter and a full buffer cost.
    total = (struct.unpack("9I", udp.getsockopt(socket.SOL_SOCKET, 55, 36))[8] if udp else 0) + excess
    if total > dropped:
        emit("dropped", str(total - dropped))
    dropped = total

raw_sockets = [raw(ARP), raw(IPV6, NEIGHBORS)]
try:
    udp = datagrams()
except OSError as error:
    udp = None
    emit("deaf", error.strerror)
if udp:
    listen_to([])
inputs = raw_sockets + ([udp] if udp else [])
emit("ready")
pending = b""
while True:
    sys.stdout.flush()
    ready = select.select([0] + inputs, [], [], 1 if requests else None)[0]
    lapse()
    for s in raw_sockets:
        receive(s)
    if udp in ready:
        receive_datagrams()
    if time.monotonic() >= reported_at + 1:
        for (device, target), times in requests.items():
            emit("requests", device, target.hex(), str(times))
        requests.clear()
        received.clear()
        report_dropped()
        reported_at = time.monotonic()
    if 0 in ready:
        chunk = os.read(0, 1 << 16)
        if not chunk:
            break
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            execute(*line.decode().split(" "))
            # Thousands of frames go out at once, and their answers must not be lost meanwhile.
            if line.startswith(b"tx"):
                for s in raw_sockets:
                    receive(s)
