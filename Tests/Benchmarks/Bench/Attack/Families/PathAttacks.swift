import Basics
import Glibc
import Threads

/// Attacks with source addresses.
enum PathAttacks {
    static let all: [Attack] = [
        Attack(
            "rebind-flood",
            "Nominating checks of the attacker's own, properly signed, from 200 addresses in turn, 2000 a second."
        ) { context in
            let intruder = try context.enter("path")
            let sockets = try (0..<200).map { try DatagramSocket(binding: context.address(300 + $0)) }
            var number = 0
            try intruder.run(context, every: .milliseconds(5)) { _ throws(WireError) in
                for _ in 0..<10 {
                    number += 1
                    sockets[number % 200].send(intruder.peer.check(), to: intruder.peer.server)
                }
            }
        },
        Attack(
            "reflect",
            "A receiver of video falls silent, then sends nominating checks and good estimates with a third party's address: what arrives there?",
            prepare: { _ = try DecodeBombs.noise.get() }
        ) { try reflect($0) },
        Attack(
            "flow-theft",
            "Checks that name the attacker's own fragment, with the bystanders' addresses and ports, 20 a second."
        ) { context in
            let intruder = try context.enter("path")
            let socket = try ForgingSocket()
            try intruder.run(context, every: .milliseconds(50)) { _ throws(WireError) in
                for address in context.bystanders {
                    socket.send(intruder.peer.check(), from: address, to: intruder.peer.server)
                }
            }
        },
        Attack("flow-theft-unsigned", "The same with a wrong signature.") { context in
            let intruder = try context.enter("path")
            let socket = try ForgingSocket()
            try intruder.run(context, every: .milliseconds(50)) { _ throws(WireError) in
                for address in context.bystanders {
                    var check = intruder.peer.check()
                    // The changed byte is in MESSAGE-INTEGRITY, in front of the 8 bytes of FINGERPRINT, which becomes
                    // wrong too.
                    check[check.count - 20] ^= 1
                    socket.send(check, from: address, to: intruder.peer.server)
                }
            }
        },
        Attack(
            "udp-port-0", "Checks of the attacker's own with source port 0, to which nothing can be sent.",
            prepare: { _ = try DecodeBombs.noise.get() }
        ) {
            try portZero($0)
        },
        Attack(
            "flow-fill",
            "160 seats that never connect, taken from four addresses, each with checks from 16 ports, again and again."
        ) { try fill($0) },
    ]

    // MARK: - A third party

    private static func reflect(_ context: AttackContext) throws {
        context.spawn { try DecodeAttacks.send($0, DecodeBombs.noise, perSecond: 30, as: 2, room: "path") }
        let intruder = try context.enter("path", codecs: [.vp8]) { $0.hasTransportFeedback = false }
        let peer = intruder.peer
        let forger = try ForgingSocket()
        let victim = try DatagramSocket(binding: context.address(99))
        let estimate = HostileRTCP.praise(peer)
        let left = context.end - MonotonicClock.now()
        try peer.run(until: context.end - left * 0.7, every: .milliseconds(100)) { _ throws(WireError) in
            peer.send(rtcp: estimate)
        }
        // The server keeps to a path on which media came within 2 s.
        try peer.run(until: context.end - left * 0.7 + .milliseconds(2100), every: .milliseconds(100)) {
            _ throws(WireError) in
        }
        var sent = 0, arrived = 0
        var next = MonotonicClock.now()
        while !context.isOver {
            if MonotonicClock.now() >= next {
                for datagram in [peer.check(), peer.protected(rtcp: estimate)] {
                    forger.send(datagram, from: victim.address, to: peer.server)
                    sent += datagram.count
                }
                next += .milliseconds(250)
            }
            victim.receive { datagram, _ in arrived += datagram.count }
            victim.wait(.milliseconds(20))
        }
        context.remark("a third party got \(arrived / 1000) kB for \(sent) B")
        // Responses are as large as the checks; the server may also send checks of its own.
        if arrived > 20_000, arrived > 3 * sent { context.fault("reflects") }
    }

    // MARK: - Segmentation

    private static func portZero(_ context: AttackContext) throws {
        let tap = try LoopbackTap(port: context.media.port)
        context.spawn { try DecodeAttacks.send($0, DecodeBombs.noise, perSecond: 30, as: 2, room: "path") }
        let intruder = try context.enter("path", codecs: [.vp8])
        let forger = try ForgingSocket()
        let left = context.end - MonotonicClock.now()
        let begin = context.end - left * 0.6, stop = context.end - left * 0.4
        try intruder.peer.run(until: begin, every: .milliseconds(100)) { _ throws(WireError) in tap.read() }
        let before = tap.take()
        let source = SocketAddress(intruder.peer.socket.address.ip, port: 0)
        try intruder.peer.run(until: stop, every: .milliseconds(50)) { _ throws(WireError) in
            forger.send(intruder.peer.check(), from: source, to: intruder.peer.server)
            tap.read()
        }
        _ = tap.take()
        try intruder.peer.run(until: context.end, every: .milliseconds(100)) { _ throws(WireError) in tap.read() }
        let after = tap.take()
        context.remark(
            "segmented writes: \(before.segmented) of \(before.all) before, \(after.segmented) of \(after.all) after")
        if before.segmented > 3, after.all > 20, after.segmented == 0 {
            context.fault("segmentation is off for everybody")
        }
    }

    // MARK: - Flows without number

    private static func fill(_ context: AttackContext) throws {
        for number in 1...4 {
            context.spawn { context in
                let sockets = try (0..<16).map { _ in try DatagramSocket(binding: context.address(number)) }
                var peers: [HostilePeer] = []
                var wires: [SignalWire] = []
                var nextJoin = MonotonicClock.now()
                while !context.isOver {
                    if peers.count < 40, MonotonicClock.now() >= nextJoin {
                        nextJoin += .milliseconds(200)
                        do {
                            let wire = try SignalWire(to: context.http, from: context.address(number))
                            try wire.join("fill \(number)", as: "Filler")
                            peers.append(
                                try HostilePeer(from: context.address(number)) { offer throws(WireError) in
                                    try wire.answer(to: offer)
                                })
                            wires.append(wire)
                        } catch {
                            context.remark("\(error)")
                            nextJoin += .seconds(1)
                        }
                    }
                    for peer in peers {
                        for socket in sockets { socket.send(peer.check(nominating: false), to: peer.server) }
                    }
                    for socket in sockets { socket.receive { _, _ in } }
                    context.rest(.milliseconds(100))
                }
                withExtendedLifetime(wires) {}
            }
        }
        context.rest()
    }
}

/// Captures the packets of a UDP port on loopback, before the system splits segmented writes into datagrams. Needs
/// CAP_NET_RAW.
private final class LoopbackTap {
    private let descriptor: Int32
    private let port: UInt16
    private var counts = (segmented: 0, all: 0)
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 17, alignment: 16)
    /// Larger than any datagram of the server.
    private static let datagram = 1500

    init(port: UInt16) throws(WireError) {
        self.port = port
        // 0x0800 is IPv4, in network order (packet(7)); the kernel's cooked form has no link headers.
        descriptor = socket(
            AF_PACKET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue),
            Int32(UInt16(0x0800).bigEndian))
        guard descriptor >= 0 else { throw .system("open a packet socket") }
        var size: Int32 = 8 << 20
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit {
        close(descriptor)
        buffer.deallocate()
    }

    func read() {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            guard count > 0 else { return }
            guard count > 28, buffer[9] == 17 else { continue }
            let head = Int(buffer[0] & 15) * 4
            guard count > head + 8, UInt16(buffer[head]) << 8 | UInt16(buffer[head + 1]) == port else { continue }
            counts.all += 1
            if count > Self.datagram { counts.segmented += 1 }
        }
    }

    func take() -> (segmented: Int, all: Int) {
        read()
        defer { counts = (0, 0) }
        return counts
    }
}
