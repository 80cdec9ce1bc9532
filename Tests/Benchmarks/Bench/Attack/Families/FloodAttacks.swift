import Basics
import Peer
import Threads

/// Floods of datagrams, of strangers and of participants.
enum FloodAttacks {
    static let all: [Attack] = [
        Attack("stun-flood", "Checks that name a fragment of nobody, from 16 addresses, 20 000 a second.") { context in
            try flood(context, perSecond: 20_000) { _ in
                check(user: "\(ICECredentials.randomToken(8)):abcd", password: "no password of anybody's")
            }
        },
        Attack(
            "stun-flood-known",
            "Checks that name the attacker's own fragment and are signed wrongly, from 16 addresses, 20 000 a second."
        ) { context in
            let intruder = try context.enter("flood")
            let user = "\(intruder.peer.answer.ice.ufrag):\(intruder.peer.offer.ice.ufrag)"
            try flood(context, perSecond: 20_000, alive: intruder) { _ in
                check(user: user, password: "not the password that it has")
            }
        },
        Attack(
            "stun-flood-authentic",
            "Checks of the attacker's own that are signed properly, from its own address, 20 000 a second."
        ) { context in
            let intruder = try context.enter("flood")
            let checks = (0..<64).map { _ in intruder.peer.check() }
            try intruder.run(context, every: .milliseconds(5)) { _ throws(WireError) in
                for _ in 0..<100 { intruder.peer.socket.send(checks.randomElement() ?? [], to: intruder.peer.server) }
            }
        },
        Attack("stun-long", "Binding requests of 1400 bytes of unknown attributes, 20 000 a second.") { context in
            var attributes: [UInt8] = []
            for index in 0..<340 {
                attributes.append16(UInt16(0x7000 + index))
                attributes.append16(0)
            }
            var bytes: [UInt8] = [0, 1]
            bytes.append16(UInt16(attributes.count))
            bytes.append32(STUNMessage.magicCookie)
            bytes += [UInt8](repeating: 7, count: 12) + attributes
            let request = bytes
            try flood(context, perSecond: 20_000) { _ in request }
        },
        Attack("dtls-flood", "Handshake records from addresses that joined nothing, 20 000 a second.") { context in
            let hellos = (0..<64).map { _ in clientHello() }
            try flood(context, perSecond: 20_000) { hellos[$0 % 64] }
        },
        Attack(
            "dtls-flood-known",
            "Handshake and application records, rubbish and replays, on the attacker's own path, 5000 a second."
        ) { context in
            let intruder = try context.enter("flood")
            var random = SeededRandom(seed: 9)
            try intruder.run(context, every: .milliseconds(5)) { _ throws(WireError) in
                for index in 0..<25 {
                    var bytes = clientHello()
                    if index % 2 == 0 {
                        for _ in 0..<20 {
                            bytes[.random(in: 0..<bytes.count, using: &random)] = .random(in: 20...63, using: &random)
                        }
                    }
                    bytes[0] = [22, 23, 21, 20, 25][index % 5]
                    intruder.peer.socket.send(bytes, to: intruder.peer.server)
                }
            }
        },
        Attack("dtls-half", "Ten members whose ClientHellos come in 200 fragments, out of order, with one missing.") {
            context in
            for number in 1...10 {
                context.spawn { context in
                    let wire = try SignalWire(to: context.http, from: context.address(number))
                    try wire.join("flood", as: "Half \(number)")
                    let peer = try HostilePeer(from: context.address(number)) { offer throws(WireError) in
                        try wire.answer(to: offer)
                    }
                    let hello = Array(clientHello()[25...])
                    // The path is established, but the handshake never completes.
                    var sequence = 0
                    while !context.isOver {
                        if sequence % 50 == 0 { peer.socket.send(peer.check(), to: peer.server) }
                        peer.socket.receive { _, _ in }
                        for _ in 0..<5 {
                            sequence += 1
                            let place = sequence * 37 % hello.count
                            guard place != 11 else { continue }
                            peer.socket.send(
                                record(
                                    hello, from: place, count: 1, message: UInt16(truncatingIfNeeded: sequence / 400),
                                    number: sequence), to: peer.server)
                        }
                        context.rest(.milliseconds(5))
                    }
                }
            }
            context.rest()
        },
        Attack("rtp-flood", "RTP and RTCP from addresses that joined nothing, 20 000 a second.") { context in
            let bodies = (0..<64).map { index in
                [0x80, index % 2 == 0 ? 111 : 200] + (0..<200).map { UInt8(truncatingIfNeeded: $0 * index) }
            }
            try flood(context, perSecond: 20_000) { bodies[$0 % 64] }
        },
        Attack("rtp-flood-forged", "RTP with the bystanders' own addresses that is not authentic, 20 000 a second.") {
            context in
            guard !context.bystanders.isEmpty else { return }
            let socket = try ForgingSocket()
            let body = [0x80, 111] + (0..<150).map { UInt8(truncatingIfNeeded: $0 * 7) }
            var number = 0
            context.repeating(perSecond: 20_000) {
                number += 1
                var packet = body
                packet[3] = UInt8(truncatingIfNeeded: number)
                packet[2] = UInt8(truncatingIfNeeded: number >> 8)
                socket.send(packet, from: context.bystanders[number % context.bystanders.count], to: context.media)
            }
        },
        Attack("rtp-flood-member", "Sound packets of one member, in order and authentic, 20 000 a second.") { context in
            let intruder = try context.enter("flood")
            var time: UInt32 = 0
            try intruder.run(context, every: .milliseconds(5)) { _ throws(WireError) in
                for _ in 0..<100 {
                    time &+= 960
                    intruder.peer.send(
                        payload: [0xFC, 0xFF, 0xFE], type: HostileOffer.opus, ssrc: intruder.peer.offer.audioSSRC,
                        timestamp: time)
                }
            }
        },
        Attack("video-flood-member", "100 Mbit/s of one member's video.", prepare: { _ = try DecodeBombs.noise.get() })
        { context in
            try DecodeAttacks.send(context, DecodeBombs.noise, perSecond: 2000, room: "flood")
        },
        Attack("rubbish-flood", "Datagrams of random bytes and lengths, empty ones among them, 20 000 a second.") {
            context in
            var random = SeededRandom(seed: 12)
            let bodies = (0..<256).map { _ in
                (0..<Int.random(in: 0...1400, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            }
            try flood(context, perSecond: 20_000) { bodies[$0 % 256] }
        },
    ]

    /// Datagrams from 16 addresses in turn.
    private static func flood(
        _ context: AttackContext, perSecond rate: Double, alive: Intruder? = nil, _ make: (Int) -> [UInt8]
    ) throws {
        let sockets = try (0..<16).map { try DatagramSocket(binding: context.address(20 + $0)) }
        var number = 0
        context.repeating(perSecond: rate) {
            number += 1
            sockets[number % 16].send(make(number), to: context.media)
            if number % 2000 == 0 {
                for socket in sockets { socket.receive { _, _ in } }
                alive?.peer.step(at: MonotonicClock.now())
            }
        }
    }

    private static func check(user: String, password: String) -> [UInt8] {
        var request = STUNMessage(
            .request, transaction: .init(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max)))
        request.username = user
        request.priority = 0x6E7F_FFFF
        request.iceControlling = 1
        return request.encoded(password: password)
    }

    /// A DTLS 1.2 ClientHello in one record (RFC 6347 §4.3.2), valid enough to be parsed.
    private static func clientHello() -> [UInt8] {
        var body: [UInt8] = [0xFE, 0xFD] + (0..<32).map { _ in UInt8.random(in: 0...255) }
        body += [0, 0, 0, 4, 0xC0, 0x2B, 0xC0, 0x2F, 1, 0]
        return record(body, from: 0, count: body.count, message: 0, number: 0)
    }

    /// A fragment of a handshake message in a record of its own.
    private static func record(_ body: [UInt8], from start: Int, count: Int, message: UInt16, number: Int) -> [UInt8] {
        func three(_ value: Int) -> [UInt8] { [UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)] }
        var fragment: [UInt8] = [1] + three(body.count)
        fragment.append16(message)
        fragment += three(start) + three(count) + body[start..<start + count]
        var bytes: [UInt8] = [22, 0xFE, 0xFD, 0, 0, 0, 0, 0] + three(number)
        bytes.append16(UInt16(fragment.count))
        return bytes + fragment
    }
}
