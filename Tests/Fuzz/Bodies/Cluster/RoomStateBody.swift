import Basics
import Foundation
import Fuzzing

@testable import Admission
@testable import Conference
@testable import Gateway
@testable import WebServer

/// Stored states of rooms, and rooms that are made of them.
enum RoomStateBody {
    static let target = FuzzTarget(
        "roomstate", covers: "stored states of rooms", limits: WorkLimits(perByte: .microseconds(20)),
        maximumLength: 65_536,
        words: [
            "\"seats\":[", "\"pinOrder\":", "\"settings\":{", "\"views\":{", "\"renditions\":[", "\"bitrate\":",
            "\"createdAt\":", "\"at\":", "\"keyframeInterval\":", "\"picture\":{", "\"recordings\":[", "null",
            "9223372036854775807", "1e308", "-1", "[[",
        ],
        seeds: {
            [
                #"{"version":1,"room":"r","meeting":"m","createdAt":800000000,"savedAt":800000060.5,"reserved":true}"#,
                #"{"version":1,"room":"r","meeting":"m","savedAt":800000060,"settings":{"layout":"grid","pin":"1234","admit":"moderator","width":640,"height":360,"views":{"wall":{"width":640,"renditions":[{"height":180,"framesPerSecond":10,"bitrate":200000}]}}}}"#,
                #"{"version":1,"room":"r","meeting":"m","savedAt":800000060,"seats":[{"id":"a","name":"Ann","role":"moderator","pinOrder":3,"volume":0.5,"unrecordedBy":["host"],"ownPins":["b"]},{"id":"b","name":"Bob","role":"viewer"}],"gone":["c"],"removed":[{"address":"192.0.2.7","device":["tcp 7"],"isRefused":true},{"identity":"eve"}]}"#,
                #"{"version":1,"room":"r","meeting":"m","savedAt":800000060,"chat":[{"id":"m","from":"a","name":"Ann","text":"hi","at":800000000,"picture":{"id":"p.png","type":"image/png","bytes":7}}],"recordings":[{"series":"s","part":2,"view":"main","tracks":true,"paused":true}],"streams":[{"url":"rtmp://a/b","keyframeInterval":2}],"inputs":[{"url":"srt://a:1","name":"Stage","loops":true}]}"#,
                #"{"version":1,"room":"r","meeting":"m","savedAt":800000060,"over":true,"hosts":{"keys":["00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"],"given":true},"links":[{"id":"l","role":"viewer","expires":800000900,"uses":2,"key":"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff","used":1,"visits":["0011223344556677"]}]}"#,
            ].map { Array($0.utf8) }
        }
    ) { input, work in
        work.step(bytes: input.bytes.count)
        guard let state = try? RoomState(json: input.bytes) else { return }
        if (try? RoomState(json: state.encoded())) != state { fatalError("roomstate: a state that is not what it was") }
        let settings = (try? state.settings.settings(on: RoomSettings()) { _ in true }) ?? RoomSettings()
        var room = Room(state, settings: settings, expectedUntil: Instant.zero + .seconds(30), at: .zero)
        for seat in room.absent.seats.prefix(50) where room.member(seat.id) == nil {
            let ticket = SeatTicket(
                room: state.room, meeting: state.meeting, id: seat.id, name: seat.name, role: seat.role,
                issuedAt: state.savedAt)
            let request = AdmittedJoin(ticket, from: JoinClient())
            guard let member = try? room.join(request, id: seat.id, secret: "s", at: .zero) else { continue }
            var pin = ParticipantChange()
            pin.pinned = true
            _ = try? room.change(member.id, pin)
        }
        _ = room.endExpecting(at: .zero)
        let pending = PendingOutputs(state)
        // What others are told of it.
        let told: JSONValue = [
            "people": .array(room.infos.map(\.json)),
            "meeting": ServerEvent.Happening.roomMoved(room.meeting).data,
            "chat": .array(state.chat.map { .date($0.at) }), "outputs": .bool(pending.isEmpty),
        ]
        _ = told.bytes
        work.weigh()
    }
}
