import Basics

/// All measurements of a room of one size, and of its bare work.
struct RoomStatistics: Sendable {
    /// Of the row.
    var name: String
    var readings: [RoomSession.Reading] = []
    var bare: [StageTimes] = []
    /// The time of the probe's work beside the room, and beside the bare work.
    var probes: (room: [Double], bare: [Double]) = ([], [])
    var firstPictures: [Double] = []
    var memory: (before: Double, with: Double) = (0, 0)

    var server: StageTimes { .median(readings.map(\.times)) }
    /// How much longer the same work takes beside the room than beside its bare work.
    var slowdown: Double {
        let bare = Statistics.median(probes.bare)
        return bare > 0 ? Statistics.median(probes.room) / bare : 1
    }
    var floor: StageTimes { .median(bare) }

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
