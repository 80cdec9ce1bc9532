import Basics
import Threads

/// Strangers who take the places of a total and use none, while friends come. The totals are small, so that ten seconds
/// fill them.
enum ShareAttacks {
    private static let seats = Attack.Shape(settings: ["TESSERA_LIMITS_SEATS": "100"])
    private static let rooms = Attack.Shape(settings: ["TESSERA_LIMITS_ROOMS": "40"])
    private static let halfOpen = Attack.Shape(settings: ["TESSERA_LIMITS_HALFOPEN": "60"])
    /// The strangers' connections come by a proxy, whose header names addresses of a /48.
    private static func site(_ shape: Attack.Shape) -> Attack.Shape {
        var shape = shape
        shape.settings["TESSERA_HTTP_TRUSTEDPROXIES"] = "127.0.2.0/24"
        return shape
    }

    static let all: [Attack] = [
        Attack(
            "seats-five",
            "100 seats, and five addresses that join by silent WebSockets, 5 a second each; friends come.",
            shape: seats
        ) { silent($0, strangers: 5) { _ in "squat" } },
        Attack("seats-48", "The same by 50 joins a second from all over a /48.", shape: site(seats)) {
            silent($0, strangers: nil) { _ in "squat" }
        },
        Attack(
            "rooms-five", "40 rooms, and five addresses that join another with each silent WebSocket; friends come.",
            shape: rooms
        ) { silent($0, strangers: 5) { "squat-\($0)" } },
        Attack("rooms-48", "The same from all over a /48.", shape: site(rooms)) {
            silent($0, strangers: nil) { "squat-\($0)" }
        },
        Attack(
            "half-open-six", "60 half-open seats, and six addresses that POST /whip, never to connect; friends come.",
            shape: halfOpen
        ) { neverConnect($0, strangers: 6) },
        Attack("half-open-48", "The same from all over a /48.", shape: site(halfOpen)) {
            neverConnect($0, strangers: nil)
        },
    ]

    /// A stranger's way to the server: from an address of its own, or by the proxy from an address of the /48.
    private struct Way {
        var source: Int
        var headers: [(String, String)] = []

        init(_ lane: Int, turn: Int, isSite: Bool) {
            source = isSite ? 251 + lane : 1 + lane
            guard isSite else { return }
            let net = String(turn * 16 + lane, radix: 16)
            headers = [("X-Forwarded-For", "2001:db8:1:\(net)::1"), ("X-Forwarded-Proto", "http")]
        }
    }

    private static func run(
        _ context: AttackContext, strangers: Int?,
        _ body: @escaping @Sendable (AttackContext, Way, _ number: Int) throws -> SignalWire?
    ) {
        for lane in 0..<(strangers ?? 10) {
            context.spawn { context in
                var turn = 0
                var wires: [SignalWire] = []
                context.repeating(perSecond: 5) {
                    turn += 1
                    let way = Way(lane, turn: turn, isSite: strangers == nil)
                    if let wire = try? body(context, way, turn * 16 + lane) { wires.append(wire) }
                }
            }
        }
        friends(context)
    }

    private static func silent(
        _ context: AttackContext, strangers: Int?, _ room: @escaping @Sendable (Int) -> String
    ) {
        run(context, strangers: strangers) { context, way, number in
            let wire = try SignalWire(
                to: context.http, from: context.address(way.source), headers: way.headers, timeout: .seconds(2))
            try wire.join(room(number), as: "Squatter")
            context.add("strangers' joins", 1)
            return wire
        }
    }

    private static func neverConnect(_ context: AttackContext, strangers: Int?) {
        run(context, strangers: strangers) { context, way, number in
            let answer = try context.wire(way.source).request(
                "POST", "/whip/half-\(number % 20)?name=Never",
                headers: [("Content-Type", "application/sdp")] + way.headers, body: Array(Bomb.plain.utf8),
                timeout: .seconds(5))
            if answer.status == 201 { context.add("strangers' joins", 1) }
            return nil
        }
    }

    /// From the time at which the strangers have filled the total, friends come one after the other, each from an
    /// address and to a room of its own, connect, stay for a moment, and leave.
    private static func friends(_ context: AttackContext) {
        let left = context.end - MonotonicClock.now()
        context.rest(left * 0.4)
        let tally = Guarded((came: 0, failed: 0))
        let last = context.end - .seconds(1)
        for lane in 0..<2 {
            context.spawn { context in
                var count = 0
                while MonotonicClock.now() < last {
                    count += 1
                    let number = 100 + lane * 50 + count % 50
                    let failure: String?
                    do throws(WireError) {
                        let friend = try context.enter("friend-\(number)", as: number)
                        failure = nil
                        withExtendedLifetime(friend) { context.rest(.milliseconds(100)) }
                        // As every client does; the place of one that vanishes stays taken until its consent expires.
                        try? friend.wire.send(["type": "leave"])
                    } catch {
                        failure = "\(error)"
                    }
                    if let failure { context.remark("a friend: \(failure)") }
                    tally.withLock { $0 = ($0.came + 1, $0.failed + (failure == nil ? 0 : 1)) }
                }
            }
        }
        context.rest()
        MonotonicClock.sleep(until: context.end + .milliseconds(500))
        let (came, failed) = tally.withLock { $0 }
        context.remark("\(came - failed) of \(came) friends came in")
        if came == 0 || Double(failed) > Double(came) * 0.01 { context.fault("keeps friends out") }
    }
}
