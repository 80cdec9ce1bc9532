import Basics
import Foundation
import Glibc
import Threads

/// Connections without requests, with slow ones, or with too many; over HTTP and to the media port.
enum HTTPAttacks {
    static let all: [Attack] = [
        Attack("http-silent", "2000 connections that say nothing.") { try hold($0, count: 2000) },
        Attack(
            "http-silent-256", "2000 connections that say nothing, to a server that may have 256 descriptors.",
            shape: Attack.Shape(descriptors: 256)
        ) { try hold($0, count: 2000) },
        Attack("http-half-head", "500 connections that send a byte of a request's head every two seconds.") { context in
            let head = Array(
                context.wire().head("GET", "/api/rooms", [("X-Long", String(repeating: "a", count: 400))]).utf8)
            try hold(context, count: 500, first: Array(head[..<20])) { socket, turn in
                try socket.send([head[min(20 + turn, head.count - 3)]])
            }
        },
        Attack("http-slow-body", "300 POSTs to /whip whose bodies come a byte every two seconds.") { context in
            let head = Array(
                context.wire().head("POST", "/whip/slow", [("Content-Type", "application/sdp")], length: 60_000).utf8)
            try hold(context, count: 300, first: head + Array("v=0".utf8)) { socket, _ in try socket.send([97]) }
        },
        Attack("http-slow-reader", "200 connections that ask for the page's files over and over and read nothing.") {
            context in
            let requests = ["/", "/main.js", "/openapi.json", "/api/openapi.json", "/style.css"].map {
                context.wire().head("GET", $0)
            }.joined()
            let many = Array(String(repeating: requests, count: 20).utf8)
            // Bytes that the connection does not accept are dropped: the server may stop reading.
            try hold(context, count: 200, first: many) { socket, _ in try? socket.send(many, timeout: .milliseconds(1))
            }
        },
        Attack("http-long-head", "50 connections whose heads never end, 1 MB/s each.") { context in
            let line = Array(
                (String(repeating: "X-Filler-Header: ", count: 1) + String(repeating: "b", count: 2000) + "\r\n").utf8)
            try hold(context, count: 50, first: Array("GET / HTTP/1.1\r\nHost: x\r\n".utf8), every: .milliseconds(100))
            { socket, _ in
                for _ in 0..<50 { try socket.send(line, timeout: .milliseconds(20)) }
            }
        },
        Attack(
            "http-requests",
            "2000 requests a second for rooms, layouts and things that are not there, on 20 connections."
        ) { context in
            let paths = [
                "/api/rooms", "/api/layouts", "/nothing", "/api/rooms/calm",
                "/whip/calm/0123456789abcdef0123456789abcdef",
            ]
            for lane in 0..<20 {
                context.spawn { context in
                    var socket: StreamSocket?
                    context.repeating(perSecond: 100) {
                        do {
                            let open = try socket ?? StreamSocket(to: context.http, from: context.address)
                            socket = open
                            try open.send(context.wire().head("GET", paths[lane % paths.count]))
                            while let bytes = open.receive(timeout: .milliseconds(0)), !bytes.isEmpty {}
                        } catch {
                            socket = nil
                            context.rest(.milliseconds(50))
                        }
                    }
                }
            }
            context.rest()
        },
        Attack("http-churn", "1000 HTTP connections opened and closed a second.") { context in
            churn(context, to: context.http)
        },
        Attack("snapshot-flood", "PNGs of the bystanders' room, asked for by 16 connections at once, without a pause.")
        { context in
            for lane in 1...16 {
                context.spawn { context in
                    var count = 0
                    while !context.isOver {
                        let answer = try? context.wire(1 + lane % 2).request(
                            "GET", "/api/rooms/calm/snapshot.png", timeout: .seconds(5))
                        if answer?.status == 200 { count += 1 }
                        // After a refusal the attack waits as long as a client that retries.
                        if answer?.status != 200 { context.rest(.milliseconds(20)) }
                    }
                }
            }
            context.rest()
        },
        Attack("sockets-silent", "500 WebSockets that answer pings and never join.") { context in
            var sockets: [SignalWire] = []
            for _ in 0..<500 where !context.isOver {
                if let wire = try? SignalWire(to: context.http, from: context.address, timeout: .milliseconds(500)) {
                    sockets.append(wire)
                }
            }
            context.remark("\(sockets.count) WebSockets")
            while !context.isOver {
                for socket in sockets { socket.drain() }
                context.rest(.milliseconds(500))
            }
        },
        Attack(
            "tcp-media-slots",
            "1200 connections to the media port from one address, with a byte on each now and then: may another still come?"
        ) { context in
            context.spawn { context in
                try hold(context, count: 1200, to: context.media, first: [0]) { socket, _ in try socket.send([0]) }
            }
            MonotonicClock.sleep(until: context.end - .seconds(2))
            try reachMedia(context)
        },
        Attack("tcp-media-churn", "1000 connections to the media port opened and closed a second.") { context in
            churn(context, to: context.media)
        },
        Attack(
            "tcp-media-rubbish",
            "60 connections to the media port that send frames of 8 KB of rubbish as fast as they are taken."
        ) { context in
            var frame: [UInt8] = []
            frame.append16(8000)
            let body = frame + [UInt8](repeating: 0x55, count: 8000)
            try hold(context, count: 60, to: context.media, first: body, every: .milliseconds(10)) { socket, _ in
                for _ in 0..<4 { try socket.send(body, timeout: .milliseconds(1)) }
            }
        },
    ]

    /// Opens connections and keeps them, and calls `again` for each every two seconds. A closed connection is replaced.
    private static func hold(
        _ context: AttackContext, count: Int, to remote: SocketAddress? = nil, first: [UInt8] = [],
        every interval: Duration = .seconds(2),
        _ again: (StreamSocket, Int) throws -> Void = { _, _ in }
    ) throws {
        var sockets: [(socket: StreamSocket, turn: Int)] = []
        var next = MonotonicClock.now() + interval
        var most = 0, opened = 0
        while !context.isOver {
            // 2000 a second at most, because the attack is the open connections, not their establishment.
            var budget = 40
            while sockets.count < count, budget > 0, !context.isOver {
                budget -= 1
                guard
                    let socket = try? StreamSocket(
                        to: remote ?? context.http, from: context.address, timeout: .milliseconds(500))
                else { break }
                opened += 1
                if !first.isEmpty { try? socket.send(first, timeout: .milliseconds(10)) }
                sockets.append((socket, 0))
            }
            most = max(most, sockets.count)
            if MonotonicClock.now() >= next {
                next = MonotonicClock.now() + interval
                sockets = sockets.compactMap { entry in
                    guard waitFor(entry.socket.descriptor, timeout: .zero) else {
                        return (try? again(entry.socket, entry.turn)).map { (entry.socket, entry.turn + 1) }
                    }
                    // Reads a response or the end, unless the attack reads nothing.
                    return isClosed(entry.socket)
                        ? nil : (try? again(entry.socket, entry.turn)).map { (entry.socket, entry.turn + 1) }
                }
            }
            context.rest(.milliseconds(20))
        }
        context.remark("\(opened) connections, \(most) at once, \(sockets.count) at the end")
    }

    private static func isClosed(_ socket: StreamSocket) -> Bool {
        var byte: UInt8 = 0
        let count = recv(socket.descriptor, &byte, 1, Int32(MSG_PEEK))
        return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)
    }

    private static func churn(_ context: AttackContext, to remote: SocketAddress) {
        var opened = 0
        context.repeating(perSecond: 1000) {
            if let socket = try? StreamSocket(to: remote, from: context.address, timeout: .milliseconds(200)) {
                opened += 1
                socket.abort()
            }
        }
        context.remark("\(opened) connections")
    }

    /// Checks that the server answers another client's STUN check over TCP.
    private static func reachMedia(_ context: AttackContext) throws {
        let number = 77
        let wire = try SignalWire(to: context.http, from: context.address(number))
        try wire.join("other", as: "Somebody else")
        let peer = try HostilePeer(from: context.address(number)) { offer throws(WireError) in
            try wire.answer(to: offer)
        }
        let check = peer.check()
        var frame: [UInt8] = []
        frame.append16(UInt16(check.count))
        var reply: [UInt8]?
        if let socket = try? StreamSocket(to: context.media, from: context.address(number), timeout: .seconds(1)) {
            try? socket.send(frame + check)
            reply = socket.receive(timeout: .seconds(2))
        }
        if reply?.isEmpty ?? true { context.fault("no TCP media for anybody else") }
    }
}
