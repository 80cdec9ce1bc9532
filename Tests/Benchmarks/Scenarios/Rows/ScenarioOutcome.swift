public import Basics
import Peer
import RoomMedia
import Simulation

/// The quality of one direction of a call for one member.
public struct DirectionStatistics: Sendable {
    /// The part of the settled time per rung: `720p`, `360p`, `180p`, `stills`, `audio`.
    public var shares: [(rung: String, share: Double)] = []
    /// The part of the time in which the picture moves.
    public var motion: Double { shares.filter { $0.rung.hasSuffix("p") }.reduce(0) { $0 + $1.share } }
    public var freezesOver200 = 0.0
    public var freezesOver500 = 0.0
    public var longestGap = Duration.zero
    /// In per cent.
    public var concealed = 0.0
    public var recovered = 0.0
    public var silent = 0.0
    public var pictureDelay = Quantiles()
    public var audioDelay = Quantiles()
    /// The absolute offset between video and audio.
    public var offset = Quantiles()
    /// The delay in the link's queue.
    public var queue = Quantiles()
    /// In per cent of the packets.
    public var nacks = 0.0
    public var keyframesAsked = 0
    public var keyframesSent = 0
    public var bitRate = BitRate.zero
}

/// A quantile of durations, in milliseconds.
public struct Quantiles: Sendable {
    public var median = 0.0
    public var p95 = 0.0
    public var maximum = 0.0

    init() {}
    init(_ values: [Duration]) {
        let sorted = values.map(\.inMilliseconds).sorted()
        guard let last = sorted.last else { return }
        median = sorted[sorted.count / 2]
        p95 = sorted[min(sorted.count - 1, sorted.count * 95 / 100)]
        maximum = last
    }
}

/// All measurements of a run.
public struct ScenarioOutcome {
    let scenario: Scenario
    let room: SimulatedRoom

    var window: Range<Instant> { room.start + scenario.settled..<room.start + scenario.duration }
    private var minutes: Double { (scenario.duration - scenario.settled).inSeconds / 60 }

    func down(_ member: Int, in part: Range<Instant>? = nil) -> DirectionStatistics {
        let member = room.members[member]
        let window = part ?? window
        let minutes = (window.upperBound - window.lowerBound).inSeconds / 60
        var statistics = common(member.pictureSink.shown, member.audioSink, in: window, minutes: minutes)
        let samples = member.samples.filter { window.contains($0.at) }
        statistics.shares = shares(samples)
        statistics.queue = Quantiles(samples.map(\.linkQueue))
        if let first = samples.first, let last = samples.last, last.at > first.at {
            statistics.bitRate = BitRate(bytes: last.deliveredBytes - first.deliveredBytes, in: last.at - first.at)
        }
        let received = member.call.client.statistics(at: room.now).videoReceived
        statistics.nacks = 100 * Double(received.nacks) / Double(max(received.packets, 1))
        statistics.keyframesAsked = received.pictureLossIndications
        statistics.keyframesSent = member.call.server.statistics(at: room.now).videoSent.counters.keyframes
        return statistics
    }

    func up(_ member: Int) -> DirectionStatistics {
        let member = room.members[member]
        var statistics = common(member.tileView.shown, member.serverAudioSink, in: window, minutes: minutes)
        let received = member.call.server.statistics(at: room.now).videoReceived
        statistics.nacks = 100 * Double(received.nacks) / Double(max(received.packets, 1))
        statistics.keyframesAsked = received.pictureLossIndications
        let sent = member.call.client.statistics(at: room.now)
        statistics.keyframesSent = sent.videoSent.counters.keyframes
        statistics.bitRate = BitRate(bytes: member.call.up.deliveredBytes, in: room.now - room.start)
        return statistics
    }

    private func common(
        _ pictureSink: ShownPictures, _ audioSink: AudioSink, in window: Range<Instant>, minutes: Double
    )
        -> DirectionStatistics
    {
        var statistics = DirectionStatistics()
        let stills = SimulatedRoom.stillsTag
        statistics.freezesOver200 =
            Double(pictureSink.freezes(over: .milliseconds(200), in: window, stills: stills)) / minutes
        statistics.freezesOver500 =
            Double(pictureSink.freezes(over: .milliseconds(500), in: window, stills: stills)) / minutes
        statistics.longestGap = pictureSink.longestGap(in: window)
        statistics.concealed = audioSink.concealed(in: window)
        statistics.recovered = audioSink.recovered(in: window)
        statistics.silent = audioSink.silent(in: window)
        let shown = pictureSink.all.filter { window.contains($0.at) }
        statistics.pictureDelay = Quantiles(shown.map { $0.at - $0.made })
        statistics.offset = Quantiles(shown.compactMap(\.offset).map { $0 < .zero ? .zero - $0 : $0 })
        statistics.audioDelay = Quantiles(audioSink.ticks.filter { window.contains($0.at) }.compactMap(\.delay))
        return statistics
    }

    private func shares(_ samples: [SimulatedMember.Sample]) -> [(rung: String, share: Double)] {
        var counts: [RenditionSelector.Choice: Int] = [:]
        for sample in samples { counts[sample.choice, default: 0] += 1 }
        return counts.sorted { room.tag(of: $0.key) < room.tag(of: $1.key) }.map {
            (name(of: $0.key), Double($0.value) / Double(max(samples.count, 1)))
        }
    }

    func name(of choice: RenditionSelector.Choice) -> String {
        switch choice {
        case .rung(let index): "\(room.ladder.rungs[index].height)p"
        case .stills: "stills"
        case .rareStills: "rare stills"
        case .audioOnly: "sound"
        }
    }

    // MARK: - Moments

    /// The time in seconds, after `time`, at which the member's selection first met the condition.
    func seconds(from time: Duration, of member: Int = 0, until condition: (RenditionSelector.Choice) -> Bool)
        -> Double?
    {
        let start = room.start + time
        return room.members[member].samples.first { $0.at >= start && condition($0.choice) }.map {
            ($0.at - start).inSeconds
        }
    }

    /// The last time in seconds, after `time` and before `end`, at which the link's queue was longer than `limit`.
    func queueSeconds(from time: Duration, to end: Duration, over limit: Duration, of member: Int = 0) -> Double {
        let start = room.start + time
        let last = room.members[member].samples.last {
            $0.at >= start && $0.at < room.start + end && $0.linkQueue > limit
        }
        return last.map { ($0.at - start).inSeconds } ?? 0
    }

    /// The time from joining to the top rung, in seconds.
    func secondsToTop(of member: Int) -> Double? {
        let connected = room.members[member].connectedAt.map { $0 - room.start } ?? .zero
        return seconds(from: connected, of: member) { $0 == .rung(0) }
    }

    /// The times in seconds from the connections of these members to their first pictures.
    func secondsToFirstPicture(of members: Range<Int>) -> [Double] {
        members.map { seconds(to: { _ in true }, since: room.members[$0].connectedAt, of: $0) }
    }

    /// The times in seconds from the choice of the top rung to its first picture.
    func secondsToSharp(of members: Range<Int>) -> [Double] {
        members.map { member in
            let chosen = room.members[member].moves.first { $0.change.choice == .rung(0) }?.at
            return seconds(to: { $0 == 0 }, since: chosen, of: member)
        }
    }

    private func seconds(to isMeant: (UInt8) -> Bool, since start: Instant?, of member: Int) -> Double {
        let picture = room.members[member].pictureSink.shown.all.first { isMeant($0.tag) }
        guard let start, let picture else { return .infinity }
        return (picture.at - start).inSeconds
    }

    /// The time from the first negotiation to the first video and audio, in seconds.
    func secondsToPicture(of member: Int = 0) -> Double? {
        room.members[member].pictureSink.shown.all.first.map { ($0.at - room.start).inSeconds }
    }
}

extension ScenarioOutcome {
    /// The states of the first shown member over time, to examine a failing row.
    public var trace: String {
        let index = scenario.shown.lowerBound
        let member = room.members[index]
        var lines: [String] = []
        func time(_ at: Instant) -> String { "\(((at - room.start).inSeconds * 100).rounded() / 100)" }
        for (at, change) in member.moves {
            lines.append("  \(time(at)) s → \(name(of: change.choice)): \(change.reason.sentence)")
        }
        let every = max(1, member.samples.count / 30)
        for (number, sample) in member.samples.enumerated() where number % every == 0 {
            lines.append(
                "  \(time(sample.at)): \(name(of: sample.choice)) estimate \(sample.estimate), queue \(Int(sample.linkQueue.inMilliseconds)) ms, pacer \(Int(sample.pacerQueue.inMilliseconds)) ms"
            )
        }
        for (pictureSink, way) in [(member.pictureSink.shown, "down"), (member.tileView.shown, "up")] {
            for (before, after) in zip(pictureSink.all, pictureSink.all.dropFirst())
            where after.at - before.at > .milliseconds(200) {
                let isStill = after.tag == SimulatedRoom.stillsTag
                let length = after.at - before.at
                guard length > (isStill ? Ladder.stillInterval * 1.3 : .milliseconds(200)) else { continue }
                lines.append(
                    "  \(way): still for \(Int(length.inMilliseconds)) ms until \(time(after.at)), made \(time(after.made))"
                )
            }
        }
        lines.append("  down: \(down(index))")
        lines.append("  up: \(up(index))")
        return lines.joined(separator: "\n")
    }
}
