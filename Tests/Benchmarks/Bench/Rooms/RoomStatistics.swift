import Basics

/// All measurements of a room of one size, and of its bare work, in the turns that they took.
struct RoomStatistics: Sendable {
    /// One turn of the room, and the one of its bare work beside it: what changes the machine's speed from minute to
    /// minute changes both.
    struct Turn: Sendable {
        var room: [RoomSession.Reading] = []
        var bare: [StageTimes] = []
        /// The time of the probe's work beside the room, and beside the bare work.
        var probes = (room: 0.0, bare: 0.0)

        var server: StageTimes { .median(room.map(\.times)) }
        var floor: StageTimes { .median(bare) }
        /// How much longer the same work takes beside the room than beside its bare work.
        var slowdown: Double { probes.bare > 0 && probes.room > 0 ? probes.room / probes.bare : 1 }

        /// How much more the room costs than its bare work: as measured, or at equal speed of the machine.
        func ratio(_ part: KeyPath<StageTimes, Double>, atEqualSpeed: Bool) -> Double {
            let floor = floor[keyPath: part]
            guard floor > 0 else { return 0 }
            return server[keyPath: part] / floor / (atEqualSpeed ? slowdown : 1)
        }
    }

    /// Of the row.
    var name: String
    var turns: [Turn] = []
    var firstPictures: [Double] = []
    var memory: (before: Double, with: Double) = (0, 0)

    /// The room's processor time over the turns, and that of its bare work.
    func server(_ part: KeyPath<StageTimes, Double>) -> Spread { Spread(turns.map { $0.server[keyPath: part] }) }
    func floor(_ part: KeyPath<StageTimes, Double>) -> Spread { Spread(turns.map { $0.floor[keyPath: part] }) }
    func ratio(_ part: KeyPath<StageTimes, Double>, atEqualSpeed: Bool) -> Spread {
        Spread(turns.map { $0.ratio(part, atEqualSpeed: atEqualSpeed) })
    }
    var slowdown: Spread { Spread(turns.map(\.slowdown)) }

    /// The part by which the room's cost over its bare work must change to be seen.
    var visible: Double { min(total.visible, ratio(\.total, atEqualSpeed: true).visible) }
    /// How many turns show a change of `part`.
    func turns(toShow part: Double) -> Int {
        min(total.count(toShow: part), ratio(\.total, atEqualSpeed: true).count(toShow: part))
    }
    private var total: Spread { ratio(\.total, atEqualSpeed: false) }

    private var readings: [RoomSession.Reading] { turns.flatMap(\.room) }

    /// A quantile in milliseconds, interpolated within the histogram's steps of 4 ms; 0 when nothing was counted.
    func delay(_ quantile: Double, of part: String = "total") -> Double {
        let bounds = readings.first?.delays[part]?.map(\.bound) ?? []
        let counts = bounds.indices.map { index in
            readings.reduce(0) { sum, reading in
                guard let delays = reading.delays[part], delays.indices.contains(index) else { return sum }
                return sum + delays[index].count
            }
        }
        guard let all = counts.last, all > 0 else { return 0 }
        let wanted = quantile * all
        guard let index = counts.firstIndex(where: { $0 >= wanted }) else { return 0 }
        let lower = index > 0 ? bounds[index - 1] : 0, below = index > 0 ? counts[index - 1] : 0
        guard bounds[index].isFinite else { return lower * 1000 }
        let share = counts[index] > below ? (wanted - below) / (counts[index] - below) : 1
        return (lower + (bounds[index] - lower) * share) * 1000
    }

    func perSecond(_ what: KeyPath<RoomSession.Reading, Double>) -> Double {
        Statistics.median(readings.map { $0[keyPath: what] })
    }
}
