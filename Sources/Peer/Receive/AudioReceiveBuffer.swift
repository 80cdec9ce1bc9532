import Basics

/// The tunables of audio playout.
public struct AudioReceiveConfiguration: Sendable {
    /// What a clean line needs: a bucket of the estimator and the margin. Playout steps in ticks, so the delay itself is up to a tick more.
    public var minimumDelay: Duration = .milliseconds(15)
    /// The ceiling of the target; above it sound plays faster until it is back.
    public var maximumDelay: Duration = .milliseconds(250)
    /// Beyond this sound is cut instead.
    public var cutDelay: Duration = .milliseconds(500)
    /// Samples at 48 kHz of one output tick.
    public var samplesPerTick = 960
    public var maximumPackets = 200

    public init() {}
}

/// What to do next for the sound of one participant.
public enum AudioPlayout: Sendable {
    /// Decode the packet; play the result `tempo` times as fast (n samples become n ÷ tempo).
    case decode(ReceivedAudioPacket, tempo: Double)
    /// Decode the forward error correction inside this packet, which stays in the buffer: it stands for `samples` lost ones.
    case decodeFEC(ReceivedAudioPacket, samples: Int)
    /// Let the decoder conceal as many samples; it fades out by itself, and `concealedDuration` says for how long already.
    case conceal(samples: Int)
    /// Append as many zero samples: nobody speaks, or too much is missing.
    case silence(samples: Int)
    /// A new stream begins: reset the decoder and ask again.
    case reset
}

/// Decides when which Opus packet is played: delay against loss.
///
/// Each output tick the caller asks until it has enough samples; `pcmBuffered` is what it has then, after scaling:
///
///     while let step = buffer.next(at: now, pcmBuffered: pcm.count) {
///         switch step {
///         case .decode(let packet, let tempo): stretch(decoder.decode(packet.payload), tempo, onto: &pcm)
///         case .decodeFEC(let packet, let samples): pcm += decoder.decodeFEC(packet.payload, samples: samples)
///         case .conceal(let samples): pcm += decoder.conceal(samples: samples)
///         case .silence(let samples): pcm += zeros(samples)
///         case .reset: decoder = OpusDecoder()
///         }
///     }
///     mix(pcm.prefix(960)); pcm.removeFirst(960)
///
/// It answers nil as soon as `pcmBuffered` is a tick's worth, and every answer but `reset` brings samples, so the loop ends. A
/// packet that cannot be decoded is the caller's to replace by as much concealment.
public struct AudioReceiveBuffer: Sendable {
    public struct Statistics: Sendable, Equatable {
        public var packets = 0
        public var duplicates = 0
        /// Came after their place was played.
        public var late = 0
        public var lost = 0
        /// Came with a later packet and stood in for what had not come itself.
        public var copies = 0
        /// At 48 kHz, as all samples here.
        public var concealedSamples = 0
        public var fecSamples = 0
        public var silentSamples = 0
        public var acceleratedSamples = 0
        public var stretchedSamples = 0
        public var cutSamples = 0
        public var underruns = 0
        public var resets = 0
        public var malformed = 0
    }

    private enum State { case idle, playing }
    private struct Entry {
        var packet: ReceivedAudioPacket
        var samples: Int
        var isComfort: Bool
        var carriesFEC: Bool
        var end: Int64 { packet.timestamp &+ Int64(samples) }
    }

    /// After this much concealment there is nothing left to hear.
    static let fadeSamples = 9600
    static let jump: Duration = .seconds(5)
    static let rate: Int64 = 48_000
    /// Safety above the measured quantile.
    static let margin: Duration = .milliseconds(10)
    /// What is held beside the packets is played away from here on, down to what two packets played faster take.
    static let shedFrom: Duration = .milliseconds(6)
    static let shedUntil: Duration = .milliseconds(3)

    public private(set) var statistics = Statistics()
    /// Raised by lip synchronisation when the picture is later than the sound: the least `currentDelay`, up to the ceiling.
    public var minimumDelay: Duration = .zero

    private let configuration: AudioReceiveConfiguration
    private var queue: [Entry] = []
    private var estimator = DelayEstimator()
    private var state = State.idle
    /// The timestamp of the next sample to decode.
    private var playhead: Int64 = 0
    private var playedSequence: Int64?
    private var lastWasComfort = false
    private var newest: (timestamp: Int64, arrival: Instant, ssrc: UInt32)?
    private var needsReset = false
    /// Concealed in a row, and how much of it stood for time in which nothing had come.
    private var concealedRun = 0
    private var underrunSamples = 0
    private var boost: (delay: Duration, since: Instant)?
    private var tempoState = 1.0
    private var isShedding = false
    private var measuredDelay: Duration = .zero
    private var outputCapture: Instant?

    public init(configuration: AudioReceiveConfiguration = .init()) {
        self.configuration = configuration
    }

    // MARK: - Seen from outside

    /// What the delay should be now.
    public func targetDelay(at now: Instant) -> Duration {
        // Until something is known a line is taken for a clean one: a late packet corrects that at once.
        var target = (estimator.delay ?? .zero) + Self.margin
        if let boost {
            target = max(target, faded(boost, at: now))
        }
        target = max(target, configuration.minimumDelay, minimumDelay)
        return min(target, configuration.maximumDelay)
    }

    /// How long the newest decoded packet waited, relative to the fastest packet of the last while.
    public var currentDelay: Duration { measuredDelay }

    /// How long it has concealed without a break; the mixer stops listening after about 200 ms.
    public var concealedDuration: Duration { Self.duration(concealedRun) }

    /// Now − capture of what was decoded last, less what the caller still holds: for lip synchronisation. nil while silent.
    public func playoutDelay(at now: Instant, pcmBuffered: Int) -> Duration? {
        guard let outputCapture else { return nil }
        return now - outputCapture + .nanoseconds(Int64(pcmBuffered) * 1_000_000_000 / Self.rate)
    }

    /// Packets that wait.
    public var queuedPackets: Int { queue.count }

    // MARK: - In

    /// Takes a packet, in whatever order they come.
    public mutating func insert(_ packet: ReceivedAudioPacket) {
        if packet.isCopy { return insert(copy: packet) }
        statistics.packets += 1
        guard let head = OpusPacket(packet.payload) else {
            statistics.malformed += 1
            return
        }
        if let newest {
            let media = Instant(ticks: packet.timestamp &- newest.timestamp, at: Self.rate) - Instant.zero
            let real = packet.arrival - newest.arrival
            if packet.ssrc != newest.ssrc || (media - real).nanoseconds.magnitude > Self.jump.nanoseconds.magnitude { restart() }
        }
        let delay = estimator.insert(
            mediaTime: Instant(ticks: packet.timestamp, at: Self.rate).nanoseconds, arrival: packet.arrival)
        if packet.timestamp >= newest?.timestamp ?? .min { newest = (packet.timestamp, packet.arrival, packet.ssrc) }
        let entry = Entry(packet: packet, samples: head.samples, isComfort: head.isComfort, carriesFEC: head.carriesFEC)
        if state == .playing, entry.end <= playhead {
            statistics.late += 1
            raise(to: delay, at: packet.arrival)
            return
        }
        if state == .playing, underrunSamples > 0, !lastWasComfort {
            // What the packet carries of a lost one before it would have come in time, had the sound waited for it.
            let repairs = entry.carriesFEC && packet.timestamp > playhead
            raise(to: delay + (repairs ? Self.duration(entry.samples) : .zero), at: packet.arrival)
        }
        var index = queue.count
        while index > 0, queue[index - 1].packet.timestamp > packet.timestamp { index -= 1 }
        if index > 0, queue[index - 1].packet.timestamp == packet.timestamp {
            if queue[index - 1].packet.isCopy {
                queue[index - 1] = entry
            } else {
                statistics.duplicates += 1
            }
            return
        }
        queue.insert(entry, at: index)
        if queue.count > configuration.maximumPackets {
            statistics.cutSamples += queue[0].samples
            queue.removeFirst()
        }
    }

    /// A copy fills the hole that it is for. It came late on purpose, so it says nothing about the line; what has been concealed in its place
    /// is not played once more, but the next one is waited for.
    private mutating func insert(copy: ReceivedAudioPacket) {
        guard let head = OpusPacket(copy.payload) else {
            statistics.malformed += 1
            return
        }
        let entry = Entry(packet: copy, samples: head.samples, isComfort: head.isComfort, carriesFEC: head.carriesFEC)
        guard state == .playing, let newest, newest.ssrc == copy.ssrc, copy.timestamp <= newest.timestamp &+ Self.rate, entry.end > playhead,
            queue.count < configuration.maximumPackets
        else { return }
        guard entry.end &- Int64(underrunSamples) > playhead else {
            if !lastWasComfort { raise(to: level(of: copy.timestamp, at: copy.arrival), at: copy.arrival) }
            return
        }
        var index = queue.count
        while index > 0, queue[index - 1].packet.timestamp > copy.timestamp { index -= 1 }
        if index > 0, queue[index - 1].packet.timestamp == copy.timestamp { return }
        queue.insert(entry, at: index)
        statistics.copies += 1
    }

    /// The stream ended or changed.
    public mutating func reset() { restart() }

    // MARK: - Out

    /// The next step of the tick at `now`; nil once `pcmBuffered` suffices.
    public mutating func next(at now: Instant, pcmBuffered: Int) -> AudioPlayout? {
        let wanted = configuration.samplesPerTick - pcmBuffered
        guard wanted > 0 else { return nil }
        if needsReset {
            needsReset = false
            return .reset
        }
        let target = targetDelay(at: now)
        if state == .idle, !start(at: now, target: target) {
            return silence(wanted)
        }
        while let first = queue.first, first.end <= playhead {
            statistics.late += 1
            queue.removeFirst()
        }
        cut(at: now, target: target)
        guard let first = queue.first else { return starve(wanted) }
        let gap = first.packet.timestamp &- playhead
        if gap > 0, let step = fill(gap, before: first, wanted: wanted, at: now, target: target) { return step }
        return play(first, pcmBuffered: pcmBuffered, at: now, target: target)
    }

    // MARK: - Steps

    private mutating func play(_ entry: Entry, pcmBuffered: Int, at now: Instant, target: Duration) -> AudioPlayout {
        queue.removeFirst()
        playhead = entry.packet.timestamp
        measuredDelay = level(of: playhead, at: now)
        playhead = entry.end
        if let playedSequence { statistics.lost += max(0, Int(clamping: entry.packet.sequence &- playedSequence &- 1)) }
        playedSequence = entry.packet.sequence
        lastWasComfort = entry.isComfort
        concealedRun = 0
        underrunSamples = 0
        outputCapture = entry.packet.captureTime
        // What will still be there when the next packet is due.
        let ahead = max(0, pcmBuffered + min(entry.samples, configuration.samplesPerTick) - configuration.samplesPerTick)
        var tempo = tempo(for: measuredDelay, target: target)
        if tempo == 1 { tempo = shed(Self.duration(ahead), level: measuredDelay, target: target) }
        if tempo > 1 { statistics.acceleratedSamples += entry.samples - Int(Double(entry.samples) / tempo) }
        if tempo < 1 { statistics.stretchedSamples += Int(Double(entry.samples) / tempo) - entry.samples }
        return .decode(entry.packet, tempo: tempo)
    }

    /// What stands for the hole before `first`; nil when `first` itself is due.
    private mutating func fill(_ gap: Int64, before first: Entry, wanted: Int, at now: Instant, target: Duration) -> AudioPlayout?
    {
        let isContinuous = playedSequence.map { first.packet.sequence == $0 &+ 1 } ?? true
        if isContinuous {
            // Discontinuous transmission: the sender was silent, nothing is lost, and the delay may be set anew unheard.
            let missing = target - level(of: first.packet.timestamp, at: now)
            if missing > .zero { return silence(min(wanted, max(Self.samples(missing), 120))) }
            return nil
        }
        // Part of the hole has passed while nothing was here.
        var left = Int(clamping: gap) - underrunSamples
        // More than can be concealed has passed unplayed: go on with what is here.
        guard left >= 120, level(of: first.packet.timestamp, at: now) < target + .milliseconds(60) else {
            return nil
        }
        if first.carriesFEC, first.packet.sequence &- (playedSequence ?? first.packet.sequence) >= 2, left <= first.samples {
            left = left / 120 * 120
            playhead = first.packet.timestamp
            statistics.fecSamples += left
            concealedRun = 0
            underrunSamples = 0
            return .decodeFEC(first.packet, samples: left)
        }
        // Of several lost ones the last is left for forward error correction.
        var samples = first.carriesFEC && left > first.samples ? left - first.samples : left
        samples = max(120, min(samples, 960) / 120 * 120)
        playhead &+= Int64(samples)
        return conceal(samples)
    }

    /// Nothing is here to play.
    private mutating func starve(_ wanted: Int) -> AudioPlayout {
        if lastWasComfort || concealedRun >= Self.fadeSamples {
            // Silence, or the end for now: the next packet starts playout anew.
            state = .idle
            if !lastWasComfort { statistics.underruns += 1 }
            outputCapture = nil
            return silence(wanted)
        }
        // The playhead stays: what comes late is still played, and the delay grows by what it was late.
        let samples = (wanted + 119) / 120 * 120
        underrunSamples += samples
        return conceal(samples)
    }

    private mutating func conceal(_ samples: Int) -> AudioPlayout {
        concealedRun += samples
        if concealedRun > Self.fadeSamples {
            statistics.silentSamples += samples
            return .silence(samples: samples)
        }
        statistics.concealedSamples += samples
        return .conceal(samples: samples)
    }

    private mutating func silence(_ samples: Int) -> AudioPlayout {
        statistics.silentSamples += samples
        concealedRun = 0
        return .silence(samples: samples)
    }

    /// Begins to play once the first packet has waited long enough.
    private mutating func start(at now: Instant, target: Duration) -> Bool {
        guard let first = queue.first, level(of: first.packet.timestamp, at: now) >= target else { return false }
        // What is older than the target need not be heard late: nobody was listening.
        while queue.count > 1, level(of: queue[1].packet.timestamp, at: now) >= target + .milliseconds(20) {
            statistics.cutSamples += queue[0].samples
            queue.removeFirst()
        }
        playhead = queue[0].packet.timestamp
        playedSequence = queue[0].packet.sequence &- 1
        state = .playing
        concealedRun = 0
        underrunSamples = 0
        return true
    }

    /// Far beyond the ceiling speed does not help.
    private mutating func cut(at now: Instant, target: Duration) {
        guard let first = queue.first, level(of: first.packet.timestamp, at: now) > configuration.cutDelay else { return }
        while queue.count > 1, level(of: queue[1].packet.timestamp, at: now) >= target {
            statistics.cutSamples += queue[0].samples
            playedSequence = queue[0].packet.sequence
            playhead = queue[0].end
            queue.removeFirst()
        }
    }

    // MARK: - Measures

    /// How much later than the fastest packet's arrival the sample of `timestamp` would play now.
    private func level(of timestamp: Int64, at now: Instant) -> Duration {
        guard let base = estimator.base else { return .zero }
        return .nanoseconds(now.nanoseconds &- Instant(ticks: timestamp, at: Self.rate).nanoseconds &- base)
    }

    /// Inaudible steps with hysteresis: drift is taken up in short, gentle bursts.
    private mutating func tempo(for level: Duration, target: Duration) -> Double {
        let error = (level - target).inMilliseconds
        switch tempoState {
        case ..<1 where error >= 0: tempoState = 1
        case 1.0000001... where error <= 5: tempoState = 1
        default: break
        }
        if error > 150 || level > configuration.maximumDelay {
            tempoState = 1.25
        } else if error > 60 {
            tempoState = 1.2
        } else if error > 20 {
            // Playout steps in ticks: up to one of them above the target is as near as it gets.
            tempoState = max(tempoState, 1.08)
        } else if error < -40 {
            tempoState = 0.8
        } else if error < -10 {
            tempoState = min(tempoState, 0.9)
        }
        return tempoState
    }

    /// Sound that is held beside the packets makes it later and protects nothing: it was stretched when the delay was to grow, and what is
    /// left of that is played a little faster. Not where the picture needs it.
    private mutating func shed(_ ahead: Duration, level: Duration, target: Duration) -> Double {
        let spare = min(ahead, level - minimumDelay)
        isShedding = level >= target && spare > (isShedding ? Self.shedUntil : Self.shedFrom)
        return isShedding ? 1.08 : 1
    }

    private mutating func raise(to delay: Duration, at now: Instant) {
        let wanted = min(delay + Self.margin, configuration.maximumDelay)
        if let boost, faded(boost, at: now) > wanted { return }
        boost = (wanted, now)
    }

    /// A late packet counts at once; a second later its memory fades.
    private func faded(_ boost: (delay: Duration, since: Instant), at now: Instant) -> Duration {
        let age = max(0, (now - boost.since).inSeconds - 1)
        return boost.delay * (1 / (1 + age * age))
    }

    private mutating func restart() {
        queue.removeAll(keepingCapacity: true)
        estimator.rebase()
        state = .idle
        playedSequence = nil
        newest = nil
        boost = nil
        concealedRun = 0
        underrunSamples = 0
        lastWasComfort = false
        outputCapture = nil
        tempoState = 1
        needsReset = true
        statistics.resets += 1
    }

    private static func samples(_ duration: Duration) -> Int {
        // A sender's timestamps reach in here: 48 times a saturated duration does not fit.
        let (product, overflow) = duration.nanoseconds.multipliedReportingOverflow(by: 48)
        return overflow ? (duration > .zero ? .max : .min) : Int(product / 1_000_000)
    }
    private static func duration(_ samples: Int) -> Duration { .nanoseconds(Int64(samples) * 1_000_000_000 / rate) }
}
