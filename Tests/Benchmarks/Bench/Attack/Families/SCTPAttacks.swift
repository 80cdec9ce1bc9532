import Basics

/// Data channels of a peer that ignores SCTP's rules.
enum SCTPAttacks {
    static let all: [Attack] = [
        Attack("sctp-fragments", "A message of fragments of one byte that never ends, 11 000 a second.", memory: 40) {
            context in
            try chunks(context, packetsPerSecond: 200, perPacket: 56) { channels, number in
                HostileChannels.data(tsn: channels.tsn &+ UInt32(number), begins: number == 0, ends: false, [1])
            }
        },
        Attack(
            "sctp-holes",
            "Every second chunk missing, for ever, so that each packet is answered with all the holes; 28 000 chunks a second.",
            memory: 40
        ) { context in
            try chunks(context, packetsPerSecond: 500, perPacket: 56) { channels, number in
                HostileChannels.data(tsn: channels.tsn &+ 1 &+ UInt32(number % 8000) * 2, number: 9, [1])
            }
        },
        Attack("sctp-window", "Beginnings of messages of 1 KB that never end, in order, 10 MB/s.", memory: 40) {
            context in
            let body = [UInt8](repeating: 1, count: 1000)
            try chunks(context, packetsPerSecond: 10_000, perPacket: 1) { channels, number in
                HostileChannels.data(
                    tsn: channels.tsn &+ UInt32(number), stream: UInt16(number % 1000),
                    number: UInt16(truncatingIfNeeded: number / 1000), begins: true,
                    ends: false, body)
            }
        },
        Attack(
            "sctp-window-tiny", "Whole messages of one byte whose turn never comes, in order, 110 000 a second.",
            memory: 40
        ) { context in
            try chunks(context, packetsPerSecond: 2000, perPacket: 56) { channels, number in
                HostileChannels.data(
                    tsn: channels.tsn &+ UInt32(number), stream: UInt16(number % 1000),
                    number: UInt16(truncatingIfNeeded: 1 + number / 1000), [1])
            }
        },
        Attack(
            "sctp-forward", "FORWARD-TSN with 270 streams to skip and ever further numbers, 1000 a second.", memory: 40
        ) { context in
            try chunks(context, packetsPerSecond: 1000, perPacket: 1) { channels, number in
                var body = RTCPAttacks.word(channels.tsn &+ UInt32(number * 100))
                for stream in 0..<270 {
                    body.append16(UInt16(stream))
                    body.append16(UInt16(truncatingIfNeeded: number * 50))
                }
                return HostileChannels.chunk(192, body)
            }
        },
        Attack(
            "sctp-acknowledgements", "Acknowledgements of 250 ranges each, of which none was sent, 2000 a second.",
            memory: 40
        ) { context in
            try chunks(context, packetsPerSecond: 2000, perPacket: 1) { _, number in
                var body = RTCPAttacks.word(UInt32(truncatingIfNeeded: number)) + RTCPAttacks.word(.max)
                body.append16(250)
                body.append16(0)
                for range in 0..<250 {
                    body.append16(UInt16(range * 2 + 1))
                    body.append16(0xFFFF)
                }
                return HostileChannels.chunk(3, body)
            }
        },
        Attack(
            "sctp-control", "INITs, heartbeats, cookies, resets of streams and unknown chunks, 55 000 a second.",
            memory: 40
        ) { context in
            var random = SeededRandom(seed: 6)
            try chunks(context, packetsPerSecond: 2000, perPacket: 28) { _, number in
                let type: UInt8 = [1, 4, 10, 130, 64, 200, 5, 11, 3, 9][number % 10]
                return HostileChannels.chunk(type, (0..<32).map { _ in .random(in: 0...255, using: &random) })
            }
        },
        Attack(
            "channel-opens", "Channels opened with labels of 1 KB on every stream, over and over, 2000 a second.",
            memory: 40
        ) { context in
            let label = [UInt8](repeating: 65, count: 1000)
            try chunks(context, packetsPerSecond: 2000, perPacket: 1) { channels, number in
                var body: [UInt8] = [3, 0, 1, 0, 0, 0, 0, 0]
                body.append16(1000)
                body.append16(0)
                return HostileChannels.data(
                    tsn: channels.tsn &+ UInt32(number), stream: UInt16(number % 1024),
                    number: UInt16(truncatingIfNeeded: number / 1024),
                    type: HostileChannels.openType, body + label)
            }
        },
        Attack(
            "channel-relay", "Messages of one byte, 60 000 a second, to somebody in the room who acknowledges nothing.",
            memory: 40
        ) { context in
            context.spawn { context in
                // Opens the channel, and then acknowledges nothing.
                let (intruder, channels) = try member(context, as: 2)
                try intruder.run(context, every: .milliseconds(100)) { _ throws(WireError) in }
                withExtendedLifetime(channels) {}
            }
            context.rest(.milliseconds(700))
            let (intruder, channels) = try member(context, as: 1)
            let stream: UInt16 = intruder.peer.answer.isPassive ? 0 : 1
            var number = UInt16(1)
            try intruder.run(context, every: .milliseconds(5)) { _ throws(WireError) in
                var left = 300
                channels.sendPacked {
                    guard left > 0 else { return nil }
                    left -= 1
                    defer {
                        channels.tsn &+= 1
                        number &+= 1
                    }
                    return HostileChannels.data(tsn: channels.tsn, stream: stream, number: number, [120])
                }
            }
        },
    ]

    private static func member(_ context: AttackContext, as number: Int) throws(WireError) -> (
        Intruder, HostileChannels
    ) {
        let intruder = try context.enter("channels", as: number)
        let channels = HostileChannels(intruder.peer)
        try channels.establish()
        channels.open(stream: intruder.peer.answer.isPassive ? 0 : 1, label: "relay")
        return (intruder, channels)
    }

    /// `make` returns the chunk with a number.
    private static func chunks(
        _ context: AttackContext, packetsPerSecond rate: Int, perPacket: Int, _ make: (HostileChannels, Int) -> [UInt8]
    ) throws {
        let intruder = try context.enter("channels")
        let channels = HostileChannels(intruder.peer)
        try channels.establish()
        var number = 0
        try intruder.run(context, every: .milliseconds(5)) { _ throws(WireError) in
            guard !channels.isAborted else { return }
            var left = max(1, rate * perPacket / 200)
            channels.sendPacked {
                guard left > 0 else { return nil }
                left -= 1
                defer { number += 1 }
                return make(channels, number)
            }
        }
        if channels.isAborted { context.remark("the association was ended") }
    }
}
