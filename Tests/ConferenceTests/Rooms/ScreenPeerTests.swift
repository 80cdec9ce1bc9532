import Basics
import Foundation
import Mixing
import Peer
import RoomMedia
import TestSupport
import Testing
import Threads

@testable import Conference

/// The second peer of a participant, which sends its screen.
@Suite("The peer of a screen")
struct ScreenPeerTests {
    private var room = Room(id: "r", settings: RoomSettings(), createdAt: Date(timeIntervalSince1970: 0), at: .zero)

    init() throws {
        for id in ["a", "b"] {
            var request = AdmittedJoin(room: "r", name: id)
            (request.roleIsProven, request.isNative) = (false, true)
            _ = try room.join(request, id: id, secret: "s", at: .zero)
        }
    }

    private var pictures: [String] {
        RoomRecord.scene(of: room) { LayoutLibrary.builtIn[$0] }.people.filter(\.sendsVideo).map(\.id)
    }

    private mutating func connect(_ peer: String = "p1", of id: String = "b") throws {
        try room.addScreenPeer(peer, of: id, at: .zero)
        room.screenPeer(peer, of: id, isConnected: true, at: .zero)
    }

    @Test("the screen is a second picture from the first connection on, and goes with the peer")
    mutating func twoPictures() throws {
        try room.addScreenPeer("p1", of: "b", at: .zero)
        #expect(!room.isPresented, "nothing is shown of a screen that is not there yet")
        room.screenPeer("p1", of: "b", isConnected: true, at: .zero)
        #expect(room.infos[1].presenting && room.infos[1].video)
        #expect(pictures == ["a", "b", "b/screen"])
        room.screenPeer("p1", of: "b", isConnected: false, at: .zero + .seconds(1))
        #expect(pictures == ["a", "b", "b/screen"], "a short loss of the network changes nothing")
        room.removeScreenPeer("p1", of: "b")
        #expect(pictures == ["a", "b"] && !room.isPresented && room.member("b")?.screenPeer == nil)
    }

    @Test("what ends the presenting ends the peer", arguments: ["off", "stop", "viewer", "gone"])
    mutating func ends(_ how: String) throws {
        try connect()
        switch how {
        case "off": try room.present("b", false)
        case "stop": #expect(try room.moderate(.stopScreen("b"), by: "a").count == 1)
        case "viewer": _ = try room.moderate(.audience("b"), by: "a")
        default: room.leave("b", at: .zero)
        }
        #expect(room.member("b")?.screenPeer == nil && !room.isPresented)
        if how == "stop" { #expect(pictures == ["a", "b"], "the camera stays on") }
    }

    @Test("another peer takes the first one's place, and the late news of the first change nothing")
    mutating func another() throws {
        try connect()
        try room.addScreenPeer("p2", of: "b", at: .zero)
        #expect(pictures == ["a", "b", "b/screen"], "the layout stays as it is")
        room.screenPeer("p1", of: "b", isConnected: false, at: .zero)
        room.removeScreenPeer("p1", of: "b")
        #expect(room.member("b")?.screenPeer?.id == "p2" && room.isPresented)
        room.removeScreenPeer("p2", of: "b")
        #expect(!room.isPresented)
    }

    @Test("a participant has one screen: by a section of its connection, or by a peer")
    mutating func one() throws {
        try room.present("b", true)
        #expect { try room.addScreenPeer("p1", of: "b", at: .zero) } throws: {
            ($0 as? ConferenceError)?.kind == "conflict"
        }
        try room.present("b", false)
        try connect()
        #expect { try room.present("b", true) } throws: { ($0 as? ConferenceError)?.kind == "conflict" }
        #expect(room.isPresented)
    }

    @Test("who may not present gets no peer, and loses one that was connecting")
    mutating func roles() throws {
        try room.addScreenPeer("p1", of: "b", at: .zero)
        _ = try room.moderate(.audience("b"), by: "a")
        room.screenPeer("p1", of: "b", isConnected: true, at: .zero)
        #expect(room.member("b")?.screenPeer == nil && !room.isPresented)
        #expect { try room.addScreenPeer("p2", of: "b", at: .zero) } throws: {
            ($0 as? ConferenceError)?.kind == "forbidden"
        }
    }

    @Test("a peer that is not connected for 30 s has gone")
    mutating func silence() throws {
        try connect()
        #expect(room.expiredScreenPeers(at: .zero + .seconds(100)) == [])
        room.screenPeer("p1", of: "b", isConnected: false, at: .zero + .seconds(100))
        room.screenPeer("p1", of: "b", isConnected: false, at: .zero + .seconds(110))
        #expect(room.expiredScreenPeers(at: .zero + .seconds(129)) == [])
        #expect(room.expiredScreenPeers(at: .zero + .seconds(130)) == ["p1"])
    }
}

/// The same in a whole conference.
@Suite("The connection of a screen", .serialized)
struct ScreenSenderTests {
    private let ends = Guarded(0)

    private func seats(_ conference: Conference) -> Double? {
        conference.metrics().first { $0.name == "tessera_limited_current" && $0.labels == ["name": "seats"] }?.value
    }

    private func send(_ conference: Conference, _ owner: Participant, secret: String? = nil) throws -> ScreenSender {
        try conference.sendScreen(
            of: owner.id, secret: secret ?? owner.resumeSecret, in: "r", for: JoinClient(address: .v4(1))
        ) { [ends] in ends.withLock { $0 += 1 } }
    }

    @Test("it counts as a seat and ends once: with its end, its participant, its room, and another one")
    func ending() async throws {
        try await withConference { conference in
            let owner = try conference.join(AdmittedJoin(room: "r", name: "Ada")) { _ in }
            let first = try send(conference, owner)
            #expect(seats(conference) == 2 && owner.participants.count == 1)
            let second = try send(conference, owner)
            #expect(await eventually { ends.withLock { $0 } == 1 } && seats(conference) == 2)
            first.leave()
            second.leave()
            second.leave()
            #expect(await eventually { ends.withLock { $0 } == 2 } && seats(conference) == 1)
            _ = try send(conference, owner)
            owner.leave()
            #expect(await eventually { ends.withLock { $0 } == 3 } && seats(conference) == 0)
            let other = try conference.join(AdmittedJoin(room: "r", name: "Bob")) { _ in }
            _ = try send(conference, other)
            try conference.rooms.end("r")
            #expect(await eventually { ends.withLock { $0 } == 4 } && seats(conference) == 0)
        }
    }

    @Test("only the secret of the seat opens it, and the answer does not tell who is there")
    func secrets() async throws {
        try await withConference { conference in
            let owner = try conference.join(AdmittedJoin(room: "r", name: "Ada")) { _ in }
            var answers: Set<ConferenceError> = []
            for (id, secret, room) in [
                (owner.id, "x", "r"), ("x", owner.resumeSecret, "r"), (owner.id, owner.resumeSecret, "s"),
            ] {
                do throws(ConferenceError) {
                    _ = try conference.sendScreen(of: id, secret: secret, in: room, for: JoinClient()) {}
                    Issue.record("\(id) \(room)")
                } catch { answers.insert(error) }
            }
            #expect(answers.count == 1 && answers.first?.kind == "unauthorized")
            #expect(seats(conference) == 1 && conference.rooms.list().map(\.id) == ["r"])
        }
    }

    @Test("it is taken only so often, and not without a free seat")
    func limits() async throws {
        try await withConference({ $0.limits.seats = 2 }) { conference in
            let owner = try conference.join(AdmittedJoin(room: "r", name: "Ada")) { _ in }
            let screen = try send(conference, owner)
            // Both have media: nobody displaces them.
            for id in [owner.id, screen.id] { conference.registry.setUsed(id, true) }
            #expect { _ = try send(conference, owner) } throws: { ($0 as? ConferenceError)?.kind == "atCapacity" }
            #expect(throws: ConferenceError.self) { for _ in 0..<20 { _ = try send(conference, owner) } }
            #expect(seats(conference) == 2)
        }
    }

    @Test("a peer that never connects ends, and an offer of audio and video gets an answer that takes the video")
    func offer() async throws {
        try await withConference { conference in
            let owner = try conference.join(AdmittedJoin(room: "r", name: "Ada")) { _ in }
            let sender = try send(conference, owner)
            let client = try LoopbackClient(codec: .vp8, colour: (81, 90, 240), tone: 440)
            defer { client.stop() }
            let offer = await client.onLoop { peer, now in peer.makeOffer(at: now) }
            let answer = try await sender.offer(offer).text
            let sections = answer.components(separatedBy: "\r\nm=").dropFirst()
            #expect(sections.first { $0.hasPrefix("audio") }?.contains("a=inactive") == true)
            #expect(sections.first { $0.hasPrefix("video") }?.contains("a=recvonly") == true)
            #expect(owner.info?.presenting == false)
            conference.expiry.expire(at: MonotonicClock.now() + RoomRegistry.connectingLimit)
            #expect(await eventually { ends.withLock { $0 } == 1 } && seats(conference) == 1)
        }
    }
}
