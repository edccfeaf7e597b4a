# Opens TCP connections in the router's namespace, in the VRF that reaches the target: a process of ours is in one namespace.
#
# In: `connect ID ADDRESS PORT MILLISECONDS VRF` (VRF `-`: the most specific route decides), `cancel ID`.
# Out: for each connection `end ID VRF MICROSECONDS ERROR` (ERROR `-`: connected, VRF `-`: the default VRF), or `shared ID VRF ADDRESS` where each node's
# router has the source address, so that the answer would not come back, or `host ID VRF` where the route leads to this node itself; then
# `done ID`. `empty ID` if no router runs here: no link but `lo` is up with an address.
import errno, os, select, socket, struct, sys, time

NEWLINK, GETLINK, NEWADDR, GETADDR, NEWROUTE, GETROUTE = 16, 18, 20, 22, 24, 26
REQUEST, DUMP, FIB_MATCH, LOOKUP_TABLE = 1, 0x300, 0x2000, 0x1000
UNICAST, LOCAL = 1, 2
IS_UP, IS_LOOPBACK = 1, 8
# Addresses of this scope and narrower ones are link-local.
SCOPE_LINK = 253
# Of links to the own host, and of the bridges of VNIs. Both have the same addresses on every node.
TO_HOST, SHARED = ("pe-", "pt-ns", "lo"), ("pe-", "pt-ns", "br-pe-")
MOST_VRFS = 8
LINKS_FOR = 2.0
FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}

def say(*parts):
    sys.stdout.write(" ".join(str(part) for part in parts) + "\n")

netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
netlink.settimeout(2)
number = 0

def attributes(data):
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        if length < 4:
            break
        found[kind & 0x3FFF] = data[4:length]
        data = data[(length + 3) & ~3:]
    return found

# The bodies of the answers of one type; empty for an error, such as no route.
def ask(kind, flags, body, wanted):
    global number
    number += 1
    netlink.send(struct.pack("=IHHII", 16 + len(body), kind, REQUEST | flags, number, 0) + body)
    found = []
    while True:
        data = netlink.recv(1 << 18)
        while len(data) >= 16:
            length, kind, _, of, _ = struct.unpack_from("=IHHII", data)
            if of == number and kind in (2, 3):
                return found if kind == 3 else []
            if of == number and kind == wanted:
                found.append(data[16:length])
                if flags & DUMP == 0:
                    return found
            data = data[(length + 3) & ~3:]

links, vrfs, is_router, read = {}, {}, False, -LINKS_FOR
# The VRF of a device, and the devices of an address: each VRF may have it.
places, owners = {}, {}

# Reading a hundred VNIs takes milliseconds.
def read_links():
    global links, vrfs, places, owners, is_router, read
    if time.monotonic() < read + LINKS_FOR:
        return
    links, vrfs, owners, is_router = {}, {}, {}, False
    usable, masters = set(), {}
    for body in ask(GETLINK, DUMP, bytes(16), NEWLINK):
        index, flags = struct.unpack_from("=iI", body, 4)
        found = attributes(body[16:])
        if flags & IS_UP and not flags & IS_LOOPBACK:
            usable.add(index)
        links[index] = found[3].rstrip(b"\0").decode()
        masters[index] = struct.unpack("=I", found[10])[0] if 10 in found else index
        info = attributes(found.get(18, b""))
        if info.get(1, b"").rstrip(b"\0") == b"vrf":
            vrfs[links[index]] = index, attributes(info[2])[1]
    names = {index: name for name, (index, _) in vrfs.items()}
    places = {links[index]: names.get(master, "-") for index, master in masters.items()}
    for body in ask(GETADDR, DUMP, bytes(8), NEWADDR):
        scope, index = struct.unpack_from("=BI", body, 3)
        found = attributes(body[8:])
        owners.setdefault(found.get(2, found.get(1)), set()).add(links.get(index, ""))
        # Each new namespace has tunl0 or sit0 where these modules are loaded.
        is_router = is_router or (index in usable and scope < SCOPE_LINK)
    read = time.monotonic()

# The length of the matching prefix, the device (`lo` for an address of the router itself) and the source address; None without a route.
def route(address, vrf, flags):
    family = FAMILIES[6 if ":" in address else 4]
    packed = socket.inet_pton(family, address)
    body = struct.pack("=BBBBBBBBI", family, len(packed) * 8, 0, 0, 0, 0, 0, 0, flags)
    body += struct.pack("=HH", 4 + len(packed), 1) + packed
    if vrf:
        body += struct.pack("=HHI", 8, 4, vrf[0])
    for answer in ask(GETROUTE, 0, body, NEWROUTE):
        found = attributes(answer[12:])
        # Older kernels go on with the main table where that of the VRF has no route.
        is_of_vrf = not vrf or found.get(15) == vrf[1]
        if answer[7] in (UNICAST, LOCAL) and is_of_vrf:
            device = links.get(struct.unpack("=I", found[4])[0], "") if 4 in found else ""
            return answer[1], "lo" if answer[7] == LOCAL else device, found.get(7)
    return None

# Why a connection would say nothing about the target: `host`, or `shared` and the source address; empty if it would.
def obstacle(address, vrf):
    found = route(address, vrfs.get(vrf), LOOKUP_TABLE)
    if found and found[1].startswith(TO_HOST):
        return ["host"]
    place = places.get(found[1], vrf) if found else vrf
    if found and found[2] and any(owner.startswith(SHARED) and places.get(owner) == place for owner in owners.get(found[2], ())):
        return ["shared", socket.inet_ntop(FAMILIES[4 if len(found[2]) == 4 else 6], found[2])]
    return []

# The VRFs with the most specific route. A default route may lead anywhere: then the first VRF that can be used, the default one before others.
def best(address):
    lengths = {}
    for name, vrf in [("-", None), *sorted(vrfs.items())]:
        found = route(address, vrf, FIB_MATCH | LOOKUP_TABLE)
        if found:
            lengths[name] = found[0]
    most = max(lengths.values(), default=0)
    names = [name for name, length in lengths.items() if length == most]
    return names[:MOST_VRFS] if most > 0 or not names else [next((name for name in names if not obstacle(address, name)), names[0])]

pending, waiting = {}, {}

def end(connection, code):
    id_, vrf, sock, began, _ = connection
    name = "-" if code == 0 else errno.errorcode.get(code, "EIO")
    say("end", id_, vrf, round((time.monotonic() - began) * 1e6), name)
    sock.close()
    waiting[id_] -= 1
    finish(id_)

def finish(id_):
    if waiting[id_] == 0:
        del waiting[id_]
        say("done", id_)

def open_connection(id_, address, port, seconds, vrf):
    if vrf != "-" and vrf not in vrfs:
        return say("end", id_, vrf, 0, "ENODEV")
    verb, *source = obstacle(address, vrf) or [None]
    if verb:
        return say(verb, id_, vrf, *source)
    sock = None
    try:
        sock = socket.socket(FAMILIES[6 if ":" in address else 4], socket.SOCK_STREAM)
        sock.setblocking(False)
        if vrf != "-":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, vrf.encode())
        began = time.monotonic()
        code = sock.connect_ex((address, port))
    except OSError as error:
        if sock:
            sock.close()
        return say("end", id_, vrf, 0, errno.errorcode.get(error.errno, "EIO"))
    waiting[id_] += 1
    connection = (id_, vrf, sock, began, began + seconds)
    if code == errno.EINPROGRESS:
        pending[sock.fileno()] = connection
        poll.register(sock, select.POLLOUT)
    else:
        end(connection, code)

def connect(id_, address, port, milliseconds, vrf):
    read_links()
    if not is_router:
        return say("empty", id_)
    # One for this function, which is not done before all are open.
    waiting[id_] = 1
    for name in [vrf] if vrf != "-" else best(address) or ["-"]:
        open_connection(id_, address, int(port), int(milliseconds) / 1000, name)
    waiting[id_] -= 1
    finish(id_)

def cancel(id_):
    for descriptor in [known for known, connection in pending.items() if connection[0] == id_]:
        poll.unregister(descriptor)
        pending.pop(descriptor)[2].close()
    waiting.pop(id_, None)

def take(descriptor, code):
    connection = pending.pop(descriptor)
    poll.unregister(descriptor)
    end(connection, connection[2].getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) if code is None else code)

poll = select.poll()
poll.register(0, select.POLLIN)
rest = b""
while True:
    sys.stdout.flush()
    soonest = min((connection[4] for connection in pending.values()), default=None)
    ready = poll.poll(None if soonest is None else max(0, soonest - time.monotonic()) * 1000 + 1)
    for descriptor, _ in ready:
        if descriptor in pending:
            take(descriptor, None)
    now = time.monotonic()
    for descriptor in [known for known, connection in pending.items() if connection[4] <= now]:
        take(descriptor, errno.ETIMEDOUT)
    if any(descriptor == 0 for descriptor, _ in ready):
        chunk = os.read(0, 1 << 16)
        if not chunk:
            break
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            verb, *args = line.decode().split(" ")
            {"connect": connect, "cancel": cancel}[verb](*args)
