import ArgumentParser
import Basics
import Foundation

/// `bench rooms`: the cost of rooms of several sizes, compared with the bare cost of the same codec work.
struct RoomsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rooms",
        abstract: "Processor time by stage, added delay, join time and memory of rooms on loopback.")

    @Option(
        help: """
            The rooms, comma-separated: how many people, with /N how many of them have a camera on, with :N how many \
            talk (2), with +N how many get the upright view beside the room's (0).
            """)
    var sizes = "2,4,4+2,9,9:1,16,25/5"

    @Option(help: "How long each room is measured, in seconds, in each turn.")
    var seconds = 5.0

    @Option(help: "How many threads the server codes with (default: as many as processors).")
    var workers: Int?

    @Option(help: "How often room and bare work take turns, at least.")
    var rounds = 5

    @Option(help: "How often at most, where fewer turns would hide a change of 5 %.")
    var most = 9

    /// Medians are taken over windows of this length.
    private static let window = Duration.milliseconds(2500)
    /// The change of a room's cost that is to be seen.
    private static let change = 0.05

    /// One room of `sizes`.
    struct Size {
        var people: Int
        var cameras: Int
        var talkers: Int
        var upright: Int

        /// `PEOPLE[/CAMERAS][:TALKERS][+UPRIGHT]`; nil where it is not one.
        init?(_ text: some StringProtocol) {
            let (rest, upright) = Self.split(text, at: "+", or: 0)
            let (head, talkers) = Self.split(rest, at: ":", or: 2)
            let (people, cameras) = Self.split(head, at: "/", or: Int(head) ?? 0)
            guard let people = Int(people), let cameras, let talkers, (1...50).contains(people),
                (1...people).contains(cameras), talkers >= 0, let upright, (0...people).contains(upright)
            else { return nil }
            (self.people, self.cameras, self.talkers, self.upright) = (people, cameras, talkers, upright)
        }

        private static func split(
            _ text: some StringProtocol, at mark: Character, or usual: Int
        ) -> (head: String, number: Int?) {
            guard let place = text.firstIndex(of: mark) else { return (String(text), usual) }
            return (String(text[..<place]), Int(text[text.index(after: place)...]))
        }
    }

    private func parsedSizes() throws -> [Size] {
        try sizes.split(separator: ",").map { text in
            guard let size = Size(text) else {
                throw ValidationError("--sizes \(sizes): rooms like 9, 9:1 or 25/5, of 1 to 50 people")
            }
            return size
        }
    }

    func validate() throws {
        _ = try parsedSizes()
        guard seconds >= 2.5, rounds >= 1 else { throw ValidationError("at least 2.5 seconds and one round") }
        guard most >= 1 else { throw ValidationError("--most \(most): at least one turn") }
    }

    func run() async throws {
        Machine.begin()
        note("making what the peers send")
        let footage = try Footage()
        let different = try SettingsCheck.differences()
        let probe = try SpeedProbe(footage)
        defer { probe.stop() }
        var all: [RoomStatistics] = []
        for size in try parsedSizes() {
            let plan = RoomPlan(
                peers: size.people, cameras: size.cameras, talkers: size.talkers, upright: size.upright,
                footage: footage)
            all.append(try await measure(plan, probe))
        }
        print(Self.heading + "\n")
        print(
            "Processor time in ms per second of call, the median of the turns ± a half of what lies between their quartiles:\n\n"
                + RoomReport.costs(all) + "\n")
        print(RoomReport.ratios(all) + "\n")
        print(
            "Delay added to a picture, from its frame's arrival to the departure of the composite (ms; parts as median / p95):\n"
        )
        print(RoomReport.delays(all) + "\n")
        for codec in different {
            print("The bare \(codec.rawValue) encoder is not set as the server's: its figures do not compare.\n")
        }
        for line in RoomReport.blind(all, to: Self.change) { print(line + "\n") }
        print("Machine: \(Machine.description). Turns of \(seconds.formatted()) s in windows of 2.5 s.")
    }

    private static let heading = """
        Rooms whose peers send 640×360 at 30 frames/s and 500 kbit/s (every second one VP8, the others H.264) and 32 kbit/s of audio \
        (two talk), and get 1280×720 at 30 frames/s and 1.5 Mbit/s, one H.264 and one VP8 rendition.
        """

    private func measure(_ plan: RoomPlan, _ probe: SpeedProbe) async throws -> RoomStatistics {
        var statistics = RoomStatistics(name: plan.name)
        let windows = max(1, Int(seconds / Self.window.inSeconds))
        var places: [[Place]] = []
        while statistics.turns.count < rounds
            || statistics.turns.count < most && statistics.visible > Self.change
        {
            let name = "\(plan.name), turn \(statistics.turns.count + 1)"
            var turn = RoomStatistics.Turn()
            // Either goes first every second time, so that a machine that becomes slower or faster favours none. The
            // room's first turn tells where the pictures are.
            let isReversed = !statistics.turns.count.isMultiple(of: 2)
            if isReversed { try await measureBare(plan, places, windows, probe, name, &turn) }
            places = try await measureRoom(plan, windows, probe, name, &turn, &statistics)
            if !isReversed { try await measureBare(plan, places, windows, probe, name, &turn) }
            statistics.turns.append(turn)
        }
        return statistics
    }

    private func measureRoom(
        _ plan: RoomPlan, _ windows: Int, _ probe: SpeedProbe, _ name: String, _ turn: inout RoomStatistics.Turn,
        _ statistics: inout RoomStatistics
    ) async throws -> [[Place]] {
        note("\(name): the room")
        let session = try RoomSession(plan, workers: workers)
        do {
            try await session.open()
            if let fault = try await session.settle() { note(fault) }
            _ = probe.take()
            turn.room = try await session.measure(windows: windows, of: Self.window)
            turn.probes.room = probe.take()
        } catch {
            await session.close()
            throw error
        }
        let places = session.places
        statistics.firstPictures += session.firstPictures
        await session.close()
        if statistics.turns.isEmpty { statistics.memory = session.memory }
        return places
    }

    private func measureBare(
        _ plan: RoomPlan, _ places: [[Place]], _ windows: Int, _ probe: SpeedProbe, _ name: String,
        _ turn: inout RoomStatistics.Turn
    ) async throws {
        note("\(name): the bare work")
        _ = probe.take()
        turn.bare = try await BareCost.measure(plan, places: places, windows: windows, of: Self.window)
        turn.probes.bare = probe.take()
    }

    /// Writes progress to standard error, so that standard output has the tables only.
    private func note(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}
