import Basics
import EndpointTestSupport
import Foundation
import HTTPTypes
import Logging
import TestSupport
import Testing

@testable import Admission
@testable import Conference
@testable import Gateway
@testable import Settings
@testable import Signalling
@testable import WebServer

/// Compares the server with the page: each cell of the page's tables is tried.
@Suite struct WhoCanDoWhatTests {
    private static let secret = "the secret of the portal, of 32 bytes"

    /// The rows of the table under a heading: cells without their back quotes, by the names of the columns.
    private static func rows(under heading: String) -> [[String]] {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../../Sources/Gateway/Gateway.docc/WhoCanDoWhat.md")
        let text = (try? String(contentsOf: page, encoding: .utf8)) ?? ""
        let section = text.components(separatedBy: "\n## ").first { $0.hasPrefix(heading) } ?? ""
        return section.split(separator: "\n").filter { $0.hasPrefix("|") && !$0.hasPrefix("|-") }.dropFirst().map {
            line in
            line.split(separator: "|").map {
                $0.trimmingCharacters(in: .whitespaces).replacingOccurrences(of: "`", with: "")
            }
        }
    }

    static let routes = rows(under: "Routes")
    static let messages = rows(under: "Messages")

    private static func token(_ role: String) throws -> String {
        try TokenClaims(room: "r", role: role, exp: .distantFuture).signed(secret)
    }

    /// A column of the table of routes: the settings, and the sender of the request.
    private struct Asker {
        var mode = TesseraConfiguration.Auth.Mode.open
        var adminToken = ""
        var bearer: String?
        var address = "203.0.113.9"

        static func column(_ index: Int) async throws -> Asker {
            switch index {
            case 1: Asker()
            case 2: Asker(address: "127.0.0.1")
            case 3: Asker(adminToken: "the administrator")
            case 4: Asker(mode: .token, adminToken: "the administrator", bearer: "nonsense")
            case 5: Asker(mode: .token, adminToken: "the administrator", bearer: try token("participant"))
            case 6: Asker(mode: .token, adminToken: "the administrator", bearer: try token("moderator"))
            default: Asker(mode: .token, adminToken: "the administrator", bearer: "the administrator")
            }
        }
    }

    private func host(for asker: Asker) async -> Host {
        await Host {
            $0.auth.mode = asker.mode
            $0.auth.secret = WhoCanDoWhatTests.secret
            $0.auth.adminToken = asker.adminToken
        }
    }

    /// Whether the route gives access to this sender, even if it then answers that the resource does not exist.
    private func isLetIn(_ route: String, room: String, _ asker: Asker, _ host: Host) async throws -> Bool {
        let parts = route.split(separator: " ", maxSplits: 1).map(String.init)
        let path = parts[1].replacing("{room}", with: room).replacing(
            "{id}", with: parts[1].contains("/recordings/") ? "rec" : "p1"
        )
        .replacing("{name}", with: "grid").replacing("{session}", with: "none")
        .replacing("{client}", with: "none").replacing("{number}", with: "1")
        var headers: HTTPFields = [.contentType: "application/sdp"]
        if let bearer = asker.bearer { headers[.authorization] = "Bearer " + bearer }
        let isOffer = path.hasPrefix("/whip/") || path.hasPrefix("/whep/")
        let answer = try await host.ask(
            try #require(HTTPRequest.Method(rawValue: parts[0])), path, headers, body: isOffer ? "v=0\r\n" : "",
            from: asker.address)
        #expect(answer.status != 405 && answer.status != 421, "\(route): \(answer.status)")
        // AppRTC's answers have status 200 always.
        return answer.status != 401 && answer.status != 403 && answer.json["result"] != "ERROR"
    }

    @Test func `the page has every route of the server, and no other`() async {
        let listed = Set(WhoCanDoWhatTests.routes.map { $0[0] })
        let host = await Host()
        let all = host.endpoints.responder.table.routes.filter { $0.method != .options }.map {
            "\($0.method.rawValue) \($0.path)"
        }
        #expect(Set(all).subtracting(listed).isEmpty)
        #expect(listed.subtracting(all).isEmpty)
        #expect(listed.count == WhoCanDoWhatTests.routes.count)
    }

    @Test(arguments: routes)
    func `each cell of the routes`(row: [String]) async throws {
        #expect(row.count == 8)
        for column in 1..<row.count {
            let asker = try await Asker.column(column)
            let host = await host(for: asker)
            let own = try await isLetIn(row[0], room: "r", asker, host)
            let other = try await isLetIn(row[0], room: "other", asker, host)
            switch row[column] {
            case "yes": #expect(own && other, "\(row[0]), column \(column)")
            case "no": #expect(!own && !other, "\(row[0]), column \(column)")
            case "own room": #expect(own && !other, "\(row[0]), column \(column)")
            default: Issue.record("\(row[0]), column \(column): \(row[column])")
            }
        }
    }

    // MARK: Roles

    @Test func `the page has the table of roles and actions`() {
        let rows = Self.rows(under: "Roles")
        #expect(rows.map { $0[0] } == RoomAction.allCases.map(\.rawValue))
        for row in rows {
            guard let action = RoomAction(rawValue: row[0]) else { continue }
            let rules = [Role.viewer, .participant, .presenter, .moderator].map { action.rule(for: $0).rawValue }
            #expect(Array(row.dropFirst()) == rules, "\(row[0])")
        }
    }

    // MARK: Messages

    /// The setting of the room that a kind of `join` is about.
    private static func door(_ message: String) -> RoomSettingsChange? {
        var change = RoomSettingsChange()
        switch message {
        case "join a locked room": change.locked = true
        case "join a room with a PIN, without it": change.pin = "2718"
        case "join a room with a waiting room, at once": change.admit = .moderator
        default: return nil
        }
        return change
    }

    /// Whether the conference performs a message's request for a seat with this role, beside a moderator and a viewer.
    private func isDone(_ message: String, _ role: Role, isProven: Bool, _ conference: Conference) async -> Bool {
        let room = "room-\(UInt64.random(in: 0...UInt64.max))"
        func request(_ role: Role) -> AdmittedJoin {
            var request = AdmittedJoin(room: room, name: "Anna", role: role)
            (request.roleIsProven, request.isNative) = (isProven, true)
            return request
        }
        do throws(ConferenceError) {
            _ = try conference.join(request(.moderator)) { _ in }
            let other = try conference.join(request(.viewer)) { _ in }.id
            if let door = Self.door(message) { try conference.rooms.update(room, door) }
            let seat = try conference.join(request(role)) { _ in }
            if !isProven, role != .viewer {
                #expect(seat.info?.role == .participant, "nobody believes a claimed role")
                var change = ParticipantChange()
                change.role = role
                try conference.people.update(seat.id, in: room, change)
            }
            #expect(seat.info?.role == role)
            if let moderation = Self.moderation(message, other) { try seat.moderate(moderation) }
            if let change = Self.roomChange(message) { try seat.changeRoom(change) }
            if let request = Self.breakoutRequest(message) {
                let mayChoose = message.hasSuffix("everybody may")
                try conference.breakouts.perform(
                    [.make(BreakoutPlan(names: ["A", "B"], mayChoose: mayChoose))], in: room)
                try seat.breakOut(request)
            }
            switch message {
            case _ where message.hasPrefix("join"), _ where message.hasPrefix("moderate"),
                _ where message.hasPrefix("room"), _ where message.hasPrefix("breakout"):
                break
            case "offer": _ = try await seat.offer("v=0\r\n")
            case "candidate": seat.addCandidate("candidate:1 1 udp 1 192.0.2.1 1 typ host")
            case "state": try seat.setState(audio: true, hand: true)
            case "layout for me": try seat.setLayout("speaker", scope: .me, pins: nil)
            case "layout for the room": try seat.setLayout("speaker", scope: .room, pins: nil)
            case "layout for the room while it is locked":
                var change = RoomSettingsChange()
                change.layoutLocked = true
                try conference.rooms.update(room, change)
                try seat.setLayout("speaker", scope: .room, pins: nil)
            case "layout with pin for the room": try seat.setLayout("speaker", scope: .room, pins: [other])
            case "chat": try seat.chat("hello", to: nil)
            case "chat to all groups": try seat.chat("hello", to: nil, all: true)
            case "present": try seat.present(true)
            case "chat while it is kept to presenters", "present while it is kept to presenters":
                var change = RoomSettingsChange()
                (change.chat, change.share) = (.presenters, .presenters)
                try conference.rooms.update(room, change)
                if message.hasPrefix("chat") { try seat.chat("hello") } else { try seat.present(true) }
            case "recorded": try seat.setRecorded(false)
            case "record: start": try await seat.record(.start)
            case "record: stop what another started":
                try await conference.recordings.start(room)
                try await seat.record(.stop)
            case "mark":
                try await conference.recordings.start(room)
                try seat.mark("The vote")
            case "leave": seat.leave()
            default: Issue.record("there is no message \(message)")
            }
            return true
        } catch {
            let code = ErrorCode(error)
            return ![.forbidden, .roomLocked, .pinRequired, .refused].contains(code)
        }
    }

    private static func moderation(_ message: String, _ other: String) -> Moderation? {
        guard message.hasPrefix("moderate: ") else { return nil }
        let text =
            #"{"type":"moderate","action":"\#(message.dropFirst(10))","participant":"\#(other)","#
            + #""role":"presenter","volume":2,"recorded":false}"#
        guard case .moderate(let moderation)? = try? ClientMessage.parse(text) else {
            Issue.record("there is no message \(message)")
            return nil
        }
        switch moderation {
        // The other does not wait.
        case .admit: return .admit(nil)
        case .refuse: return .refuse(nil)
        default: return moderation
        }
    }

    private static func breakoutRequest(_ message: String) -> BreakoutRequest? {
        guard message.hasPrefix("breakout: ") else { return nil }
        let action = message.dropFirst(10).prefix { $0 != " " }
        let text =
            #"{"type":"breakout","action":"\#(action)","names":["A"],"group":1,"name":"B","places":{},"#
            + #""mayChoose":true,"groups":[1],"on":true}"#
        guard case .breakout(let request)? = try? ClientMessage.parse(text) else {
            Issue.record("there is no message \(message)")
            return nil
        }
        return request
    }

    private static func roomChange(_ message: String) -> RoomSettingsChange? {
        guard message.hasPrefix("room: ") else { return nil }
        let member = message.dropFirst(6)
        let value =
            switch member {
            case "admit": #""moderator""#
            case "pin": #""2718""#
            case "share", "chat", "unmute": #""presenters""#
            default: "true"
            }
        guard case .room(let change)? = try? ClientMessage.parse(#"{"type":"room","\#(member)":\#(value)}"#) else {
            Issue.record("there is no message \(message)")
            return nil
        }
        return change
    }

    @Test func `the page has every moderation and every setting`() {
        let listed = Set(Self.messages.map { $0[0] })
        for action in ModerateMessage.Action.allCases { #expect(listed.contains("moderate: \(action.rawValue)")) }
        for action in BreakoutMessage.Action.allCases { #expect(listed.contains("breakout: \(action.rawValue)")) }
        for setting in RoomMessage.Keys.allCases { #expect(listed.contains("room: \(setting.rawValue)")) }
    }

    @Test func `each cell of the messages`() async throws {
        let directory = ScratchDirectory(isMade: false)
        defer { withExtendedLifetime(directory) {} }
        var settings = ConferenceConfiguration()
        settings.media.udp = [Basics.SocketAddress(.v4(0x7F00_0001), port: 0)]
        settings.media.tcp = []
        settings.recording.directory = directory.path
        settings.layoutsDirectory = directory.file("layouts")
        // A machine that runs other tests too is overloaded, which would refuse rooms.
        settings.savesWorkWhenOverloaded = false
        settings.limits.rooms = 1000
        settings.limits.seats = 3000
        let conference = try Conference(settings, logger: Logger(label: "test"))
        try conference.start()
        #expect(!WhoCanDoWhatTests.messages.isEmpty)
        for row in WhoCanDoWhatTests.messages {
            let roles: [Role] = [.viewer, .participant, .presenter, .moderator]
            let columns = [false, true].flatMap { isProven in roles.map { (role: $0, isProven: isProven) } }
            #expect(row.count == columns.count + 1)
            for (cell, column) in zip(row.dropFirst(), columns) {
                let isDone = await isDone(row[0], column.role, isProven: column.isProven, conference)
                #expect(isDone == (cell == "yes"), "\(row[0]), \(column.role), proven: \(column.isProven)")
            }
        }
        await conference.drain(within: .seconds(2))
    }
}
