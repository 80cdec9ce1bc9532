import Basics
import Simulation

/// The visits and requests of one cycle of the soak test. The plan depends on the seed and the cycle's number only; the
/// number of visits of each kind is the same in every cycle, so that the server's values of two cycles are comparable.
struct SoakPlan: Sendable {
    /// The endpoint by which a caller joins.
    enum Endpoint: Sendable { case signalling, whip, whep }

    enum Deed: Sendable {
        case microphone(Bool), camera(Bool), hand(Bool)
        case layout(String, everyone: Bool)
        case present(Bool)
        /// Sends the same offer again, as after a replaced track.
        case offer
        case restartICE
        /// Changes to the address with this index, see `Crowd.addressesPerPlace`.
        case move(Int)
        case link(LinkConditions)
        /// Sends on the data channel, in bytes.
        case message(Int)
        case chat
        case record(String)
        /// Breaks the signalling connection, and resumes the seat with another one.
        case resume
    }

    enum Exit: Sendable {
        /// Sends `leave`.
        case leave
        /// Closes the media connection only.
        case hangUp
        /// Ends signalling and media without a message; the system closes the signalling connection.
        case drop
        /// Stops sending without closing any connection.
        case vanish
        /// The room is ended by the API.
        case sentAway
    }

    /// The visit of one caller. Times are seconds from the cycle's start.
    struct Visit: Sendable {
        var place: Int
        var name: String
        var room: String
        var codec: VideoCodec
        var endpoint = Endpoint.signalling
        var overTCP = false
        var isLoud = false
        var arrives: Double
        var deeds: [(at: Double, what: Deed)] = []
        var leaves: Double
        var exit: Exit

        mutating func add(_ time: Double, _ deed: Deed) { deeds.append((time, deed)) }
    }

    /// A request to the HTTP interface.
    enum Request: Sendable {
        case snapshot(String), startRecording(String), stopRecording(String), end(String), mute(String)
    }

    /// Long enough for a vanished caller to be removed: 30 s without consent, and 15 s more for the seat.
    static let length = 120.0
    /// From this second to the cycle's end only the pair is in a call: everything else that the server still holds then
    /// is a leak.
    static let quiet = 108.0

    var visits: [Visit] = []
    var requests: [(at: Double, what: Request)] = []

    private static let layouts = ["speaker", "grid", "presentation", "single", "side-by-side", "picture-in-picture"]
    private static let badLinks = [
        LinkConditions(delay: .milliseconds(40), rate: .kilobits(220)),
        LinkConditions(delay: .milliseconds(60), loss: .random(0.05), rate: .kilobits(120)),
        LinkConditions(
            delay: .milliseconds(30), jitter: .milliseconds(30),
            loss: .bursts(GilbertElliott(averageLoss: 0.03, burstLength: 6))),
    ]
    private static let goodLink = LinkConditions(delay: .zero)

    /// - Parameter people: the number of callers beside the pair.
    init(people: Int, cycle: Int, seed: UInt64) {
        var random = SeededRandom(seed: seed &+ UInt64(cycle) &* 0x9E37_79B9)
        let rooms = max(1, people / 4)
        // The assignment of the parts changes from cycle to cycle; their numbers do not.
        let parts = (0..<people).map { Part.allCases[$0 % Part.allCases.count] }.shuffled(using: &random)
        let codecs = (0..<people).map { $0.isMultiple(of: 2) ? VideoCodec.h264 : .vp8 }.shuffled(using: &random)
        let lastRoom = "soak-\(rooms - 1)"
        // One caller of a room records it, if one of its callers has such a part.
        var recorded: Set<String> = []
        for (place, part) in parts.enumerated() {
            let room = "soak-\(place % rooms)"
            // Joins from one address are limited to five a second.
            let arrival = 1 + Double(place) * 0.4 + Double.random(in: 0...0.15, using: &random)
            var visit = Visit(
                place: place, name: "\(part) \(place)", room: room, codec: codecs[place], isLoud: place / rooms == 0,
                arrives: arrival,
                leaves: 94 + Double.random(in: 0...6, using: &random), exit: .leave)
            if part == .steady, recorded.insert(room).inserted {
                for (time, action) in [(30.0, "start"), (38, "pause"), (43, "resume"), (60, "stop")] {
                    visit.add(time, .record(action))
                }
            }
            visits += part.visits(&visit, using: &random)
        }
        for index in visits.indices {
            // With many callers the last ones join late; each stays for a moment before its first action.
            for deed in visits[index].deeds.indices {
                visits[index].deeds[deed].at = max(visits[index].deeds[deed].at, visits[index].arrives + 2)
            }
        }
        for index in visits.indices where visits[index].room == lastRoom && visits[index].leaves > 90 && rooms > 1 {
            visits[index].leaves = Self.quiet - 4
            visits[index].exit = .sentAway
        }
        requests = [
            (14, .snapshot("soak-0")), (20, .startRecording(SoakPair.room)), (42, .snapshot(SoakPair.room)),
            (50, .stopRecording(SoakPair.room)),
            (55, .mute("soak-0")), (70, .snapshot("soak-0")),
        ]
        // In some cycles all callers of that room have left by then, and it ends by itself.
        if visits.contains(where: { $0.exit == .sentAway }) { requests.append((102, .end(lastRoom))) }
    }

    /// The parts that callers play.
    private enum Part: CaseIterable {
        case steady, restless, thin, ghost, publisher, stream, hopper, viewer

        /// `visit` is a plain stay from the cycle's start to its end.
        func visits(_ visit: inout Visit, using random: inout SeededRandom) -> [Visit] {
            func soon(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &random) }
            func layout() -> String { layouts.randomElement(using: &random) ?? "grid" }
            switch self {
            case .steady:
                for start in [15.0, 40, 65] {
                    visit.add(soon(start...start + 3), .microphone(false))
                    visit.add(soon(start + 4...start + 6), .message(Int.random(in: 1...12_000, using: &random)))
                    visit.add(soon(start + 7...start + 9), .microphone(true))
                    visit.add(soon(start + 10...start + 12), .chat)
                    visit.add(soon(start + 13...start + 15), .camera(false))
                    visit.add(soon(start + 17...start + 19), .camera(true))
                }
            case .restless:
                for start in [10.0, 34, 58] {
                    visit.add(soon(start...start + 2), .offer)
                    visit.add(soon(start + 6...start + 8), .restartICE)
                    visit.add(soon(start + 13...start + 14), .move(1))
                    visit.add(soon(start + 18...start + 19), .move(2))
                    visit.add(soon(start + 22...start + 23), .move(0))
                }
                visit.leaves = soon(84...88)
                visit.exit = .hangUp
            case .thin:
                for (start, link) in zip([14.0, 40, 66], badLinks.shuffled(using: &random)) {
                    visit.add(soon(start...start + 2), .link(link))
                    visit.add(soon(start + 8...start + 9), .layout(layout(), everyone: true))
                    visit.add(soon(start + 16...start + 18), .link(goodLink))
                }
            case .ghost:
                visit.add(soon(12...16), .layout(layout(), everyone: false))
                visit.add(soon(20...24), .present(true))
                visit.add(soon(28...32), .present(false))
                visit.leaves = soon(40...50)
                visit.exit = .vanish
            case .publisher:
                visit.endpoint = .whip
                visit.add(soon(20...24), .restartICE)
                visit.add(soon(40...44), .move(2))
                visit.add(soon(60...64), .restartICE)
            case .stream:
                visit.overTCP = true
                visit.add(soon(14...18), .layout(layout(), everyone: false))
                visit.add(soon(30...34), .message(Int.random(in: 1...60_000, using: &random)))
                visit.add(soon(44...48), .layout(layout(), everyone: false))
                visit.add(soon(60...64), .offer)
                visit.leaves = soon(78...82)
                visit.exit = .drop
            case .hopper:
                var all: [Visit] = []
                for (index, start) in [2.0, 34, 66].enumerated() {
                    var hop = visit
                    if index > 0 { hop.arrives = start + visit.arrives / 4 }
                    hop.leaves = soon(start + 25...start + 28)
                    hop.add(soon(start + 10...start + 12), .hand(true))
                    hop.add(soon(start + 15...start + 17), .resume)
                    hop.exit = index == 1 ? .hangUp : .leave
                    all.append(hop)
                }
                return all
            case .viewer:
                visit.endpoint = .whep
                visit.arrives = soon(11...13)
                visit.leaves = soon(50...54)
                var second = visit
                visit.exit = .drop
                second.arrives = soon(64...66)
                second.leaves = soon(88...90)
                return [visit, second]
            }
            return [visit]
        }
    }
}
