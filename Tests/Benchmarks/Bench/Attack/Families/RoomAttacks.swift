import Basics
import Foundation

/// Requests that participants may make, made without end.
enum RoomAttacks {
    static let all: [Attack] = views + texts + rooms

    // MARK: - Encoders

    private static let views: [Attack] = [
        Attack(
            "personal-views",
            "12 participants of a room where the picture moves, who change their own layout 10 times a second each.",
            prepare: { _ = try DecodeBombs.noise.get() }
        ) { context in
            let names = ["grid", "speaker", "single", "presentation", "picture-in-picture", "side-by-side"]
            context.spawn { try DecodeAttacks.send($0, DecodeBombs.noise, perSecond: 30, as: 30, room: "views") }
            for number in 1...12 {
                context.spawn { context in
                    let intruder = try context.enter("views", as: number) { $0.hasTransportFeedback = false }
                    var turn = number
                    try intruder.run(context, every: .milliseconds(100)) { _ throws(WireError) in
                        turn += 1
                        intruder.peer.send(rtcp: HostileRTCP.praise(intruder.peer))
                        try intruder.wire.send([
                            "type": "layout", "name": names[turn % names.count], "scope": "me",
                            "pin": [intruder.wire.id],
                        ])
                    }
                }
            }
            context.rest()
        },
        Attack(
            "personal-views-kept",
            "The same, but each keeps the first layout of its own: as many pictures and ladders of encoders as there are people.",
            prepare: { _ = try DecodeBombs.noise.get() }
        ) { context in
            context.spawn { try DecodeAttacks.send($0, DecodeBombs.noise, perSecond: 30, as: 30, room: "views") }
            for number in 1...12 {
                context.spawn { context in
                    let intruder = try context.enter("views", as: number) { $0.hasTransportFeedback = false }
                    try intruder.wire.send([
                        "type": "layout", "name": number % 2 == 0 ? "speaker" : "presentation", "scope": "me",
                        "pin": [intruder.wire.id],
                    ])
                    try intruder.run(context, every: .milliseconds(100)) { _ throws(WireError) in
                        intruder.peer.send(rtcp: HostileRTCP.praise(intruder.peer))
                    }
                }
            }
            context.rest()
        },
        Attack(
            "audio-profiles",
            "90 listeners of two rooms where somebody speaks, each of whom asks for sound at another rate."
        ) { context in
            let audio = try BystanderFootage().audio[0]
            for room in 0..<2 {
                context.spawn { context in
                    let intruder = try context.enter("profiles \(room)", as: 30 + room)
                    var count = 0
                    try intruder.run(context, every: .milliseconds(20)) { _ throws(WireError) in
                        intruder.peer.send(
                            payload: audio[count % audio.count], type: HostileOffer.opus,
                            ssrc: intruder.peer.offer.audioSSRC,
                            timestamp: UInt32(truncatingIfNeeded: count * 960))
                        count += 1
                    }
                }
            }
            context.rest(.milliseconds(500))
            for number in 0..<90 { context.spawn { try listen($0, number) } }
            context.rest()
        },
        Attack("recordings", "Recordings started and stopped 25 times a second in one room.") { context in
            let intruder = try context.enter("recorded")
            var isOn = false
            try intruder.run(context, every: .milliseconds(20)) { _ throws(WireError) in
                isOn.toggle()
                try intruder.wire.send(["type": "record", "action": isOn ? "start" : "stop"])
            }
        },
    ]

    /// A listener by WHEP that requests an audio bit rate that no other listener has.
    private static func listen(_ context: AttackContext, _ number: Int) throws {
        let address = 1 + number % 18
        context.rest(.milliseconds(number / 18 * 220))
        let peer = try HostilePeer(from: context.address(address)) { offer in
            offer.direction = "recvonly"
            offer.hasVideo = false
            offer.hasChannels = false
            offer.opusParameters = "minptime=10;maxaveragebitrate=\(6000 + number * 500)"
        } exchange: { offer throws(WireError) in
            let answer = try context.wire(address).request(
                "POST", "/whep/profiles%20\(number % 2)", headers: [("Content-Type", "application/sdp")],
                body: Array(offer.utf8))
            guard answer.status == 201 else { throw WireError("whep: \(answer.status) \(answer.text.prefix(80))") }
            return answer.text
        }
        try peer.connect()
        context.add("listeners", 1)
        try peer.run(until: context.end, every: .milliseconds(100)) { _ throws(WireError) in }
    }

    // MARK: - JSON

    private static let texts: [Attack] = [
        Attack(
            "signal-json-text",
            "Messages of 250 KB of escaped text before any join, on 8 connections, as fast as they are read."
        ) { context in
            let text = #"{"type":"join","room":""# + String(repeating: #"\u0041"#, count: 41_000) + #"","name":"x"}"#
            shout(context, text)
        },
        Attack("signal-json-wide", "The same with 20 000 keys.") { context in
            shout(context, #"{"type":"join","# + (0..<20_000).map { #""k\#($0)":0"# }.joined(separator: ",") + "}")
        },
        Attack("signal-json-deep", "The same with 120 000 brackets.") { context in
            shout(
                context,
                #"{"type":"join","room":"# + String(repeating: "[", count: 120_000)
                    + String(repeating: "]", count: 120_000) + "}")
        },
        Attack("signal-long", "Messages of 4 MB, more than the server takes, on 8 connections.") { context in
            shout(context, #"{"type":"join","room":""# + String(repeating: "x", count: 4 << 20) + #""}"#)
        },
        Attack("json-after", "Three members of a room of 20 who say 50 states, layouts and chats a second each.") {
            context in
            for number in 4...20 { context.spawn { try sit($0, "talk", as: number) } }
            for number in 1...3 { context.spawn { try talk($0, "talk", as: number) } }
            context.rest()
        },
        Attack("json-inside", "The same by one who sits in the bystanders' room.") { context in
            context.spawn { try talk($0, "calm", as: 1) }
            context.rest()
        },
        Attack("chat-unread", "Ten members who read nothing of the 8 KB chats that two others write 50 times a second.")
        { context in
            for number in 3...12 {
                context.spawn { context in
                    let wire = try SignalWire(to: context.http, from: context.address(number))
                    try wire.join("unread", as: "Deaf \(number)")
                    context.rest()
                }
            }
            for number in 1...2 {
                context.spawn { context in
                    let wire = try SignalWire(to: context.http, from: context.address(number))
                    try wire.join("unread", as: "Loud \(number)")
                    let text = String(repeating: "x", count: 8000)
                    try context.repeating(perSecond: 50) {
                        try wire.send(["type": "chat", "text": text])
                        wire.drain()
                    }
                }
            }
            context.rest()
        },
    ]

    /// Sends one text repeatedly on 8 connections; a closed connection is opened again.
    private static func shout(_ context: AttackContext, _ text: String) {
        let frame = SignalWire.frame(Array(text.utf8))
        for lane in 0..<8 {
            context.spawn { context in
                while !context.isOver {
                    guard
                        let wire = try? SignalWire(
                            to: context.http, from: context.address(1 + lane % 2), timeout: .seconds(1))
                    else {
                        context.rest(.milliseconds(200))
                        continue
                    }
                    while !context.isOver {
                        guard (try? wire.send(raw: frame, timeout: .seconds(1))) != nil else { break }
                        if case .closed = wire.next(timeout: .zero) { break }
                    }
                }
            }
        }
        context.rest()
    }

    /// Stays in the room and reads.
    private static func sit(_ context: AttackContext, _ room: String, as number: Int) throws {
        context.rest(.milliseconds(number * 60))
        let wire = try SignalWire(to: context.http, from: context.address(number))
        try wire.join(room, as: "Member \(number)")
        while !context.isOver { if case .closed = wire.next(timeout: .milliseconds(200)) { return } }
    }

    private static func talk(_ context: AttackContext, _ room: String, as number: Int) throws {
        let wire = try SignalWire(to: context.http, from: context.address(number))
        try wire.join(room, as: "Talker \(number)")
        var turn = 0
        try context.repeating(perSecond: 48) {
            turn += 1
            switch turn % 3 {
            case 0:
                try wire.send(["type": "state", "audio": turn % 2 == 0, "video": turn % 4 == 0, "hand": turn % 2 == 1])
            case 1: try wire.send(["type": "layout", "name": turn % 2 == 0 ? "grid" : "speaker", "scope": "me"])
            default: try wire.send(["type": "chat", "text": String(repeating: "word ", count: 100)])
            }
            wire.drain()
        }
    }

    // MARK: - Rooms and seats

    private static let rooms: [Attack] = [
        Attack("room-spam", "A room for each join, 5 joins a second from each of 20 addresses.") { context in
            for number in 1...20 {
                context.spawn { try seats($0, from: number, perSecond: 5) { "spam-\(number)-\($0)" } }
            }
            context.rest()
        },
        Attack("half-open", "POST /whip from one address into rooms of its own, never to connect, 5 a second.") {
            halfOpen($0) { "half-\($0)" }
        },
        Attack("half-open-one", "The same into one room.") { halfOpen($0) { _ in "half" } },
        Attack("churn-inside", "Somebody who comes into the bystanders' room and leaves it, 4 times a second.") {
            context in
            context.repeating(perSecond: 4) {
                do {
                    let wire = try SignalWire(to: context.http, from: context.address, timeout: .seconds(2))
                    try wire.join("calm", as: "Restless")
                    try wire.send(["type": "leave"])
                } catch {
                    context.rest(.milliseconds(250))
                }
            }
        },
        Attack(
            "restart-inside",
            "A member of the bystanders' room who asks for keyframes 500 times a second and stops and starts the picture."
        ) { context in
            let intruder = try context.enter("calm")
            var turn = 0
            try intruder.run(context, every: .milliseconds(10)) { _ throws(WireError) in
                turn += 1
                for _ in 0..<5 {
                    intruder.peer.send(
                        rtcp: HostileRTCP.feedback(
                            HostileRTCP.payloadFeedback, format: 1, sender: intruder.peer.offer.videoSSRC,
                            media: intruder.peer.answer.videoSSRC, []))
                }
                if turn % 10 == 0 { try intruder.wire.send(["type": "state", "video": turn % 20 == 0]) }
            }
        },
    ]

    private static func seats(
        _ context: AttackContext, from number: Int, perSecond rate: Double, _ room: (Int) -> String
    ) throws {
        var wires: [SignalWire] = []
        var turn = 0
        context.repeating(perSecond: rate) {
            turn += 1
            if let wire = try? SignalWire(to: context.http, from: context.address(number), timeout: .seconds(2)),
                (try? wire.join(room(turn), as: "Squatter")) != nil
            {
                wires.append(wire)
            }
        }
        context.add("seats", wires.count)
    }

    private static func halfOpen(_ context: AttackContext, _ room: (Int) -> String) {
        var turn = 0, taken = 0
        context.repeating(perSecond: 5) {
            turn += 1
            if SDPAttacks.post(context, Bomb.plain, room: room(turn)) != nil { taken += 1 }
        }
        context.remark("\(taken) of \(turn) taken")
    }
}
