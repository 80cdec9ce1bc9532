import Basics
import Foundation

/// Attempts to get access without permission, and to keep others from joining.
enum EndpointAttacks {
    private static let secret = "a secret that only this bench knows, of enough bytes"

    static let all: [Attack] = [
        Attack(
            "admin",
            "Requests that change something, from loopback, that came through a proxy or a page of a stranger: with foreign hosts and with the headers that proxies add."
        ) {
            admin($0)
        },
        Attack(
            "join-spam",
            "A client that joins with rubbish as fast as it can on four connections, while 20 others behind its address come in."
        ) {
            joinSpam($0, token: nil)
        },
        Attack(
            "join-spam-tokens",
            "The same with bad tokens, on a server that asks for tokens; the others have good ones.",
            shape: .init(secret: secret)
        ) { joinSpam($0, token: AccessToken.make(room: "shared", secret: secret)) },
        Attack("resume-spam", "Attempts to take over seats with guessed secrets, 50 a second on 8 connections.") {
            context in
            for _ in 0..<8 {
                context.spawn { context in
                    while !context.isOver {
                        guard let wire = try? SignalWire(to: context.http, from: context.address, timeout: .seconds(1))
                        else {
                            context.rest(.milliseconds(100))
                            continue
                        }
                        while !context.isOver,
                            (try? wire.send([
                                "type": "join", "resume": ["id": "p1", "secret": "\(UInt64.random(in: 0 ... .max))"],
                            ])) != nil
                        {
                            wire.drain()
                            context.rest(.milliseconds(20))
                        }
                    }
                }
            }
            context.rest()
        },
    ]

    // MARK: - Administration

    private static func admin(_ context: AttackContext) {
        let evil = "evil.example:\(context.http.port)"
        let own = "\(context.http)"
        let tricks: [(name: String, headers: [(String, String)])] = [
            ("rebinding", [("Host", evil), ("Origin", "http://\(evil)")]), ("foreign-host", [("Host", evil)]),
            ("foreign-origin", [("Host", own), ("Origin", "http://evil.example")]),
            ("via", [("Host", own), ("Via", "1.1 proxy")]),
            ("x-forwarded-for", [("Host", own), ("X-Forwarded-For", "203.0.113.7")]),
            ("forwarded", [("Host", own), ("Forwarded", "for=203.0.113.7")]),
            ("x-real-ip", [("Host", own), ("X-Real-IP", "203.0.113.7")]),
            ("cf", [("Host", own), ("CF-Connecting-IP", "203.0.113.7")]),
            ("x-forwarded-proto", [("Host", own), ("X-Forwarded-Proto", "https")]),
            ("x-forwarded-host", [("Host", own), ("X-Forwarded-Host", "meet.example")]),
            ("proxy-name", [("Host", "meet.example")]),
        ]
        var answers: [String: Int] = [:]
        while !context.isOver {
            for (name, headers) in tricks {
                for (method, path, body) in [
                    ("PUT", "/api/rooms/evil", #"{"locked":true}"#), ("DELETE", "/api/rooms/calm", ""),
                    ("PUT", "/api/layouts/evil", "{}"),
                ] where method != "DELETE" || answers[name] != nil {
                    // The request for the bystanders' room is sent only where the harmless request was refused.
                    if method == "DELETE", answers[name] ?? 0 < 400 { continue }
                    let answer = try? context.wire().request(
                        method, path, headers: headers + [("Content-Type", "application/json")], body: Array(body.utf8))
                    guard let status = answer?.status else { continue }
                    if path == "/api/rooms/evil" { answers[name] = status }
                    if (200...299).contains(status) { context.fault("admin: \(name)") }
                }
            }
            context.rest(.milliseconds(500))
        }
    }

    // MARK: - Joins

    private static func joinSpam(_ context: AttackContext, token: String?) {
        for _ in 0..<4 {
            context.spawn { context in
                while !context.isOver {
                    guard let wire = try? SignalWire(to: context.http, from: context.address, timeout: .seconds(1))
                    else {
                        context.rest(.milliseconds(100))
                        continue
                    }
                    while !context.isOver {
                        // In mode `open` the join itself would succeed, so it names a layout that does not exist.
                        var message: [String: Any] = [
                            "type": "join", "room": "shared", "name": "Spam", "layout": "there-is-none-of-this-name",
                        ]
                        if token != nil { message["token"] = "rubbish.rubbish.rubbish" }
                        guard (try? wire.send(message)) != nil else { break }
                        if case .closed = wire.next(timeout: .milliseconds(20)) { break }
                    }
                }
            }
        }
        context.rest(.milliseconds(500))
        let tally = Tally()
        for number in 0..<20 {
            context.spawn { context in
                context.rest(.milliseconds(number * 50))
                while !context.isOver {
                    do {
                        // Like the web client, it retries when the server answers `too_fast`.
                        let wire = try SignalWire(to: context.http, from: context.address, timeout: .seconds(2))
                        try wire.join("shared", as: "Other \(number)", extra: token.map { ["token": $0] } ?? [:])
                        tally.add()
                        while !context.isOver { if case .closed = wire.next(timeout: .milliseconds(200)) { return } }
                        return
                    } catch {
                        context.rest(.milliseconds(1000 + number * 20))
                    }
                }
            }
        }
        context.rest()
        let count = tally.count
        context.remark("\(count) of 20 others of the address got in")
        if count < 20 { context.fault("\(20 - count) of 20 others behind the address did not get in") }
    }

    private final class Tally: Sendable {
        private let value = Guarded(0)
        func add() { value.withLock { $0 += 1 } }
        var count: Int { value.withLock { $0 } }
    }
}
