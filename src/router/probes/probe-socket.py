# Sends and answers overlay probes in the router's namespace: Node has no raw sockets. A probe is a frame of the local experimental EtherType on the bridge of
# a VNI, or a datagram from VTEP to VTEP that may not be fragmented. Each carries an HMAC of the key that the two nodes share, and its answer has its size.
#
# In: `self INDEX VTEP`, `peer INDEX KEY VTEP`, `forget INDEX`, `vni DEVICE VNI MAC`, `drop DEVICE`, `route DEVICE INDEX` and `unroute DEVICE INDEX` (whether an
# answer to this peer goes to it alone), `lacks DEVICE INDEX` and `has DEVICE INDEX` (whether FRR lacks the EVPN routes of this peer, which an answer tells it),
# `exports DEVICE TARGETS` and `silent DEVICE` (whether this node announces prefixes in the L3VNI, which an answer tells),
# `frame ROUND INDEX DEVICE MAC SIZE`, `datagram ROUND INDEX VTEP SIZE`, `ping ROUND INDEX VTEP`, `end ROUND`.
# Out: `ready`, `answered ROUND INDEX WHERE SIZE FLAGS TARGETS` (1: the peer lacks our EVPN routes; 0: it announces no prefix in the VNI), `lost ROUND INDEX WHERE SIZE`, `failed ROUND INDEX WHERE SIZE ERROR`,
# `ended ROUND`, `unrouted DEVICE INDEX` for a request without a route for its answer, `deaf ERROR` without a socket for datagrams, and each second
# `dropped REASON NUMBER` for what was not answered. WHERE is a VNI, `udp` or `ping`.
import hmac, os, select, socket, struct, sys, time

ETHERTYPE, OUTGOING, PORT = 0x88B5, 4, 47890
# magic, what, flags, targets, VNI, sender, receiver, round, number, then padding and 16 bytes of HMAC.
HEAD = struct.Struct("!4sBBHIIIQQ")
MAGIC, REQUEST, REPLY, LACKS_ROUTE = b"PLMB", 1, 2, 1
SEAL, LEAST = 16, HEAD.size + 16
MOST_REMEMBERED, REMEMBERED_SECONDS = 65536, 60
MOST_PER_SECOND = 2000
own, vtep = 0, ""
peers, vteps, vnis, macs, routes, lacking, exporting, waiting = {}, {}, {}, {}, set(), set(), {}, {}
unrouted, served, second, dropped = set(), {}, 0.0, {}
udp, tried, refused, pings = None, 0.0, 0, {}
# The numbers of requests that were taken: of this minute and of the one before.
recent, earlier, remembered = set(), set(), 0.0

def say(*parts):
    sys.stdout.write(" ".join(str(part) for part in parts) + "\n")

def drop(reason):
    dropped[reason] = dropped.get(reason, 0) + 1

def packed(address):
    return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)

def seal(key, body):
    return hmac.digest(key, body, "sha256")[:SEAL]

def message(key, what, vni, receiver, round_, number, size, flags=0, targets=0):
    body = HEAD.pack(MAGIC, what, flags, targets, vni, own, receiver, round_, number)
    body += bytes(max(0, size - len(body) - SEAL))
    return body + seal(key, body)

def parse(data):
    # Short frames arrive padded to the least size of Ethernet, so a message is never shorter than that.
    if len(data) < LEAST or data[:4] != MAGIC:
        return drop("malformed")
    _, what, flags, targets, vni, sender, receiver, round_, number = HEAD.unpack_from(data)
    key = peers.get(sender)
    if key is None or receiver != own:
        return drop("stranger")
    if not hmac.compare_digest(data[-SEAL:], seal(key, data[:-SEAL])):
        return drop("forged")
    return what, flags, targets, vni, sender, round_, number, key

# Numbers are random. A request that is older than all that is remembered gets an answer; nobody waits for it.
def fresh(number):
    global recent, earlier, remembered
    if number in recent or number in earlier:
        return drop("replayed")
    if len(recent) >= MOST_REMEMBERED or time.monotonic() >= remembered + REMEMBERED_SECONDS:
        recent, earlier, remembered = set(), recent, time.monotonic()
    recent.add(number)
    return True

def allowed(sender):
    served[sender] = served.get(sender, 0) + 1
    return served[sender] <= MOST_PER_SECOND or drop("rate")

def answered(sender, where, round_, number, size, flags=0, targets=0):
    pending = waiting.get(round_, {})
    if pending.get((sender, where, size)) != number:
        return drop("unexpected")
    del pending[sender, where, size]
    say("answered", round_, sender, where, size, flags, targets)

def take_frame(frame, device):
    found = parse(frame[14:])
    if not found:
        return
    what, flags, targets, vni, sender, round_, number, key = found
    if vnis.get(device) != vni:
        return drop("wrong-vni")
    if what == REQUEST and fresh(number) and allowed(sender):
        # Without a route the answer would be flooded to every node of the VNI.
        if (device, sender) not in routes:
            return unrouted.add((device, sender))
        try:
            flags = LACKS_ROUTE if (device, sender) in lacking else 0
            body = message(key, REPLY, vni, sender, round_, number, len(frame) - 14, flags, exporting.get(device, 0))
            wire.sendto(frame[6:12] + macs[device] + frame[12:14] + body, (device, 0))
        except OSError:
            drop("not-sent")
    elif what == REPLY:
        answered(sender, vni, round_, number, len(frame) - 14, flags, targets)

def take_datagram(data, source):
    found = parse(data)
    if not found:
        return
    what, _, _, vni, sender, round_, number, key = found
    # It would send the answer to somebody who did not ask.
    if packed(source[0]) != vteps[sender]:
        return drop("wrong-source")
    if what == REQUEST and fresh(number) and allowed(sender):
        try:
            udp.sendto(message(key, REPLY, vni, sender, round_, number, len(data)), source)
        except OSError:
            drop("not-sent")
    elif what == REPLY:
        answered(sender, "udp", round_, number, len(data))

def sent(round_, index, where, size, send):
    key = peers.get(index)
    if key is None:
        return
    number = struct.unpack("!Q", os.urandom(8))[0]
    waiting.setdefault(round_, {})[index, where, size] = number
    try:
        send(message(key, REQUEST, where if where != "udp" else 0, index, round_, number, size))
    except OSError as error:
        waiting[round_].pop((index, where, size), None)
        say("failed", round_, index, where, size, error.errno)

def listen():
    global udp, tried, refused
    if udp:
        udp.close()
        udp = None
    tried = time.monotonic()
    family = socket.AF_INET6 if ":" in vtep else socket.AF_INET
    s = socket.socket(family, socket.SOCK_DGRAM)
    # IP_MTU_DISCOVER and IPV6_MTU_DISCOVER to PROBE: never fragment, and never believe an earlier limit.
    s.setsockopt(*((socket.IPPROTO_IP, 10, 3) if family == socket.AF_INET else (socket.IPPROTO_IPV6, 23, 3)))
    s.setblocking(False)
    try:
        s.bind((vtep, PORT))
        udp, refused = s, 0
    except OSError as error:
        s.close()
        if refused != error.errno:
            refused = error.errno
            say("deaf", error.errno)

# The address may come later, or another program may leave the port.
def listens():
    if not udp and vtep and time.monotonic() >= tried + 1:
        listen()
    return udp

# The kernel of the peer answers, whether its agent runs or not.
def ping(round_, index, to):
    six = ":" in to
    number = struct.unpack("!H", os.urandom(2))[0]
    body = struct.pack("!BBHHH", 128 if six else 8, 0, 0, os.getpid() & 0xFFFF, number)
    if not six:
        total = sum(struct.unpack("!4H", body))
        body = body[:2] + struct.pack("!H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + body[4:]
    try:
        if six not in pings:
            s = socket.socket(*((socket.AF_INET6, socket.SOCK_RAW, 58) if six else (socket.AF_INET, socket.SOCK_RAW, 1)))
            s.setblocking(False)
            pings[six] = s
        if vtep:
            waiting.setdefault(round_, {})[index, "ping", 8] = number
            pings[six].sendto(body, (to, 0))
    except OSError as error:
        waiting.get(round_, {}).pop((index, "ping", 8), None)
        say("failed", round_, index, "ping", 8, error.errno)

def take_ping(data, six):
    head = data if six else data[(data[0] & 15) * 4:]
    if len(head) < 8 or head[0] != (129 if six else 0) or struct.unpack_from("!H", head, 4)[0] != os.getpid() & 0xFFFF:
        return
    number = struct.unpack_from("!H", head, 6)[0]
    for round_, pending in waiting.items():
        for (index, where, size), sent in list(pending.items()):
            if where == "ping" and sent == number:
                answered(index, where, round_, number, size)

def obey(verb, *args):
    global own, vtep
    if verb == "frame":
        round_, index, device, mac, size = int(args[0]), int(args[1]), args[2], bytes.fromhex(args[3]), int(args[4])
        if device in vnis:
            head = mac + macs[device] + struct.pack("!H", ETHERTYPE)
            sent(round_, index, vnis[device], size, lambda body: wire.sendto(head + body, (device, 0)))
    elif verb == "datagram" and listens():
        round_, index, to, size = int(args[0]), int(args[1]), args[2], int(args[3])
        sent(round_, index, "udp", size, lambda body: udp.sendto(body, (to, PORT)))
    elif verb == "end":
        for index, where, size in waiting.pop(int(args[0]), {}):
            say("lost", args[0], index, where, size)
        say("ended", args[0])
    elif verb == "peer":
        peers[int(args[0])], vteps[int(args[0])] = bytes.fromhex(args[1]), packed(args[2])
    elif verb == "forget":
        peers.pop(int(args[0]), None)
        vteps.pop(int(args[0]), None)
    elif verb == "vni":
        vnis[args[0]], macs[args[0]] = int(args[1]), bytes.fromhex(args[2])
    elif verb == "drop":
        vnis.pop(args[0], None)
        macs.pop(args[0], None)
        exporting.pop(args[0], None)
        for known in (routes, lacking):
            known.difference_update([one for one in known if one[0] == args[0]])
    elif verb in ("route", "unroute"):
        (routes.add if verb == "route" else routes.discard)((args[0], int(args[1])))
    elif verb in ("lacks", "has"):
        (lacking.add if verb == "lacks" else lacking.discard)((args[0], int(args[1])))
    elif verb == "exports":
        exporting[args[0]] = int(args[1])
    elif verb == "silent":
        exporting.pop(args[0], None)
    elif verb == "ping":
        ping(int(args[0]), int(args[1]), args[2])
    elif verb == "self":
        own, vtep = int(args[0]), args[1]
        listen()

wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
wire.setblocking(False)

def receive():
    for _ in range(256):
        try:
            frame, source = wire.recvfrom(65536)
        except OSError:
            break
        if source[2] != OUTGOING:
            take_frame(frame, source[0])
    for _ in range(256 if udp else 0):
        try:
            take_datagram(*udp.recvfrom(65536))
        except OSError:
            break
    for six, s in pings.items():
        for _ in range(256):
            try:
                take_ping(s.recv(65536), six)
            except OSError:
                break

say("ready")
pending = b""
while True:
    sys.stdout.flush()
    ready = select.select([0, wire, *pings.values()] + ([udp] if udp else []), [], [], 1 if dropped else None)[0]
    receive()
    for device, sender in unrouted:
        say("unrouted", device, sender)
    unrouted.clear()
    if time.monotonic() >= second + 1:
        second = time.monotonic()
        served.clear()
        for reason, number in dropped.items():
            say("dropped", reason, number)
        dropped.clear()
    if 0 in ready:
        chunk = os.read(0, 1 << 16)
        if not chunk:
            break
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            obey(*line.decode().split(" "))
            # A round is hundreds of frames: their answers must not overflow the buffer meanwhile.
            if line[:5] == b"frame":
                receive()
