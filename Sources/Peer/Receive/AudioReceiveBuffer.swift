public import Basics

/// Decides when each Opus packet is played: a compromise between delay and loss.
///
/// At each output tick the caller calls `next` until it has enough samples; `pcmBuffered` is what it has then, after
/// scaling:
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
/// It returns nil as soon as `pcmBuffered` is a tick's worth, and every step except `reset` yields samples, so the loop
/// ends. For a packet that cannot be decoded the caller conceals as many samples.
public struct AudioReceiveBuffer: Sendable {
    /// The counts of packets and of played samples, at 48 kHz.
    public struct Statistics: Sendable, Equatable {
        /// Packets that were accepted.
        public var packets = 0
        /// Packets that had come before.
        public var duplicates = 0
        /// Packets that came after their place was played.
        public var late = 0
        /// Packets whose place was played without them.
        public var lost = 0
        /// Copies, sent with a later packet, that replaced a lost packet.
        public var copies = 0
        /// Samples that the decoder concealed.
        public var concealedSamples = 0
        /// Samples from a later packet's forward error correction.
        public var fecSamples = 0
        /// Samples of silence, for comfort packets and after the end of concealment.
        public var silentSamples = 0
        /// Samples that faster playout removed.
        public var acceleratedSamples = 0
        /// Samples that slower playout added.
        public var stretchedSamples = 0
        /// Samples that were dropped to reduce the delay.
        public var cutSamples = 0
        /// How often there was nothing to play.
        public var underruns = 0
        /// How often a new stream began.
        public var resets = 0
        /// Packets that are not Opus.
        public var malformed = 0
    }

    private typealias Entry = AudioPacketQueue.Entry
    private enum State { case idle, playing }

    /// After this much concealment the decoder has faded to silence.
    private static let fadeSamples = 9600
    /// A larger difference between media time and real time means a new stream.
    private static let jump: Duration = .seconds(5)

    /// The counts so far.
    public private(set) var statistics = Statistics()

    private let configuration: AudioReceiveConfiguration
    private var queue = AudioPacketQueue()
    private var target: PlayoutTarget
    private var tempo: PlayoutTempo
    private var state = State.idle
    /// The timestamp of the next sample to decode.
    private var playhead: Int64 = 0
    private var playedSequence: Int64?
    private var lastWasComfort = false
    private var newest: (timestamp: Int64, arrival: Instant, ssrc: SSRC)?
    private var needsReset = false
    /// Concealed samples in a row, and how many of them covered a time in which no packet had come.
    private var concealedRun = 0
    private var underrunSamples = 0
    private var measuredDelay: Duration = .zero
    private var outputCapture: Instant?

    /// An empty buffer.
    public init(configuration: AudioReceiveConfiguration = .init()) {
        self.configuration = configuration
        target = PlayoutTarget(configuration)
        tempo = PlayoutTempo(maximumDelay: configuration.maximumDelay)
    }

    // MARK: - State

    /// The delay that playout aims at now.
    public func targetDelay(at now: Instant) -> Duration { target.delay(at: now) }

    /// The least `currentDelay`, up to the ceiling; lip synchronisation raises it when the picture is later than the
    /// audio.
    public var minimumDelay: Duration {
        get { target.minimum }
        set { target.minimum = newValue }
    }

    /// How long the newest decoded packet waited, relative to the fastest packet of the last seconds.
    public var currentDelay: Duration { measuredDelay }

    /// How long playout has concealed without a break; the mixer stops using the audio after about 200 ms.
    public var concealedDuration: Duration { OpusClock.duration(concealedRun) }

    /// Now − the capture time of what was decoded last, minus what the caller still holds: for lip synchronisation. nil
    /// during silence.
    public func playoutDelay(at now: Instant, pcmBuffered: Int) -> Duration? {
        guard let outputCapture else { return nil }
        return now - outputCapture + OpusClock.duration(pcmBuffered)
    }

    // MARK: - Input

    /// Takes a packet; packets may come in any order.
    public mutating func insert(_ packet: ReceivedAudioPacket) {
        if packet.isCopy { return insert(copy: packet) }
        statistics.packets += 1
        guard let entry = Entry(packet) else {
            statistics.malformed += 1
            return
        }
        if let newest {
            let media = OpusClock.time(packet.timestamp &- newest.timestamp) - Instant.zero
            let real = packet.arrival - newest.arrival
            if packet.ssrc != newest.ssrc || (media - real).nanoseconds.magnitude > Self.jump.nanoseconds.magnitude {
                restart()
            }
        }
        let delay = target.insert(packet)
        if packet.timestamp >= newest?.timestamp ?? .min { newest = (packet.timestamp, packet.arrival, packet.ssrc) }
        if state == .playing, entry.end <= playhead {
            statistics.late += 1
            target.raise(to: delay, at: packet.arrival)
            return
        }
        if state == .playing, underrunSamples > 0, !lastWasComfort {
            // If it can repair a lost packet before it, it would have come in time had playout waited for it.
            let repairs = entry.carriesFEC && packet.timestamp > playhead
            target.raise(to: delay + (repairs ? OpusClock.duration(entry.samples) : .zero), at: packet.arrival)
        }
        guard queue.insert(entry) else {
            statistics.duplicates += 1
            return
        }
        if queue.count > configuration.maximumPackets { cutFirst() }
    }

    /// Inserts a copy in place of its lost packet. The copy is late by design, so it says nothing about the link; audio
    /// that was concealed in its place is not played afterwards, but the target grows so that the next one is in time.
    private mutating func insert(copy: ReceivedAudioPacket) {
        guard let entry = Entry(copy) else {
            statistics.malformed += 1
            return
        }
        guard state == .playing, let newest, newest.ssrc == copy.ssrc,
            copy.timestamp <= newest.timestamp &+ OpusClock.rate,
            entry.end > playhead, queue.count < configuration.maximumPackets
        else { return }
        guard entry.end &- Int64(underrunSamples) > playhead else {
            if !lastWasComfort {
                target.raise(to: target.delay(of: copy.timestamp, at: copy.arrival), at: copy.arrival)
            }
            return
        }
        if queue.insert(entry) { statistics.copies += 1 }
    }

    /// Starts anew: the stream ended or changed.
    public mutating func reset() { restart() }

    // MARK: - Output

    /// The next step of the tick at `now`; nil once `pcmBuffered` is enough.
    public mutating func next(at now: Instant, pcmBuffered: Int) -> AudioPlayout? {
        let wanted = configuration.samplesPerTick - pcmBuffered
        guard wanted > 0 else { return nil }
        if needsReset {
            needsReset = false
            return .reset
        }
        let targetDelay = target.delay(at: now)
        if state == .idle, !start(at: now, target: targetDelay) { return silence(wanted) }
        while let first = queue.first, first.end <= playhead {
            statistics.late += 1
            queue.removeFirst()
        }
        cut(at: now, target: targetDelay)
        guard let first = queue.first else { return starve(wanted) }
        let gap = first.packet.timestamp &- playhead
        if gap > 0, let step = fill(gap, before: first, wanted: wanted, at: now, target: targetDelay) { return step }
        return play(first, pcmBuffered: pcmBuffered, at: now, target: targetDelay)
    }

    // MARK: - Steps

    private mutating func play(_ entry: Entry, pcmBuffered: Int, at now: Instant, target targetDelay: Duration)
        -> AudioPlayout
    {
        queue.removeFirst()
        playhead = entry.packet.timestamp
        measuredDelay = target.delay(of: playhead, at: now)
        playhead = entry.end
        if let playedSequence { statistics.lost += max(0, Int(clamping: entry.packet.sequence &- playedSequence &- 1)) }
        playedSequence = entry.packet.sequence
        lastWasComfort = entry.isComfort
        concealedRun = 0
        underrunSamples = 0
        outputCapture = entry.packet.captureTime
        // The audio that will still be held when the next packet is due.
        let ahead = max(
            0, pcmBuffered + min(entry.samples, configuration.samplesPerTick) - configuration.samplesPerTick)
        let tempo = self.tempo.next(
            delay: measuredDelay, target: targetDelay, minimum: target.minimum, ahead: OpusClock.duration(ahead))
        if tempo > 1 { statistics.acceleratedSamples += entry.samples - Int(Double(entry.samples) / tempo) }
        if tempo < 1 { statistics.stretchedSamples += Int(Double(entry.samples) / tempo) - entry.samples }
        return .decode(entry.packet, tempo: tempo)
    }

    /// The step that fills the gap before `first`; nil if `first` itself is due.
    private mutating func fill(
        _ gap: Int64, before first: Entry, wanted: Int, at now: Instant, target targetDelay: Duration
    ) -> AudioPlayout? {
        let delay = target.delay(of: first.packet.timestamp, at: now)
        let isContinuous = playedSequence.map { first.packet.sequence == $0 &+ 1 } ?? true
        if isContinuous {
            // Discontinuous transmission: the sender was silent, nothing is lost, and a change of the delay is
            // inaudible.
            let missing = targetDelay - delay
            if missing > .zero { return silence(min(wanted, max(OpusClock.samples(missing), 120))) }
            return nil
        }
        // Concealment already covered a part of the gap.
        var left = Int(clamping: gap) - underrunSamples
        // If more has passed than can be concealed, playout continues with `first`.
        guard left >= 120, delay < targetDelay + .milliseconds(60) else { return nil }
        if first.carriesFEC, first.packet.sequence &- (playedSequence ?? first.packet.sequence) >= 2,
            left <= first.samples
        {
            left = left / 120 * 120
            playhead = first.packet.timestamp
            statistics.fecSamples += left
            concealedRun = 0
            underrunSamples = 0
            return .decodeFEC(first.packet, samples: left)
        }
        // Of several lost packets the last one is left to forward error correction.
        var samples = first.carriesFEC && left > first.samples ? left - first.samples : left
        samples = max(120, min(samples, 960) / 120 * 120)
        playhead &+= Int64(samples)
        return conceal(samples)
    }

    /// Conceals, or ends playout, when there is no packet to play.
    private mutating func starve(_ wanted: Int) -> AudioPlayout {
        if lastWasComfort || concealedRun >= Self.fadeSamples {
            // Silence, or the end for now: the next packet restarts playout.
            state = .idle
            if !lastWasComfort { statistics.underruns += 1 }
            outputCapture = nil
            return silence(wanted)
        }
        // The playhead stays: late packets are still played, and the delay grows by their lateness.
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

    /// Starts playout once the first packet has waited long enough.
    private mutating func start(at now: Instant, target targetDelay: Duration) -> Bool {
        guard let oldest = queue.first, target.delay(of: oldest.packet.timestamp, at: now) >= targetDelay else {
            return false
        }
        // Packets older than the target are dropped rather than played late: playout has not begun.
        while let second = queue.second,
            target.delay(of: second.packet.timestamp, at: now) >= targetDelay + .milliseconds(20)
        { cutFirst() }
        guard let first = queue.first else { return false }
        playhead = first.packet.timestamp
        playedSequence = first.packet.sequence &- 1
        state = .playing
        concealedRun = 0
        underrunSamples = 0
        return true
    }

    /// Drops packets when the delay is far beyond the ceiling, where faster playout does not help.
    private mutating func cut(at now: Instant, target targetDelay: Duration) {
        guard let first = queue.first, target.delay(of: first.packet.timestamp, at: now) > configuration.cutDelay else {
            return
        }
        while let first = queue.first, let second = queue.second,
            target.delay(of: second.packet.timestamp, at: now) >= targetDelay
        {
            playedSequence = first.packet.sequence
            playhead = first.end
            cutFirst()
        }
    }

    private mutating func cutFirst() {
        statistics.cutSamples += queue.first?.samples ?? 0
        queue.removeFirst()
    }

    private mutating func restart() {
        queue.removeAll()
        target.reset()
        tempo.reset()
        state = .idle
        playedSequence = nil
        newest = nil
        concealedRun = 0
        underrunSamples = 0
        lastWasComfort = false
        outputCapture = nil
        needsReset = true
        statistics.resets += 1
    }
}
