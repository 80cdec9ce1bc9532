import Basics
import Peer
import RoomMedia

/// The audio playout of a simulated receiver: the real playout buffer, read every 20 ms, with sample counts instead of
/// samples.
struct AudioSink {
    struct Tick {
        var at: Instant
        /// The concealed samples of this tick, at 48 kHz.
        var concealed: Int
        var recovered: Int
        var silent: Int
        /// The time from capture to playout of the current audio; nil when none plays.
        var delay: Duration?
    }

    static let tick = 960
    private var buffer = AudioReceiveBuffer()
    private var ready = 0
    /// The capture time at the end of the newest packet in `ready`.
    private var newestEnd: Instant?
    private var playing: (delay: Duration, at: Instant)?
    private(set) var ticks: [Tick] = []
    private(set) var packets = 0

    var statistics: AudioReceiveBuffer.Statistics { buffer.statistics }
    var delay: Duration? { ticks.last?.delay }

    mutating func receive(_ packet: ReceivedAudioPacket) {
        packets += 1
        buffer.insert(packet)
    }

    /// The audio that plays in the tick at `now`.
    mutating func pull(at now: Instant) {
        var tick = Tick(at: now, concealed: 0, recovered: 0, silent: 0, delay: nil)
        var lastAdded = 0
        for _ in 0..<8 {
            guard let step = buffer.next(at: now, pcmBuffered: ready) else { break }
            let before = ready
            defer { lastAdded = ready - before }
            switch step {
            case .decode(let packet, let tempo):
                let samples = OpusPacket(packet.payload)?.samples ?? Self.tick
                let added = Int(Double(samples) / tempo)
                ready += added
                if let mark = MediaMark(packet.payload.dropFirst(2)) {
                    newestEnd = mark.made + .nanoseconds(Int64(samples) * 1_000_000_000 / 48_000)
                }
            case .decodeFEC(let packet, let samples):
                ready += samples
                if MediaMark(packet.payload.dropFirst(2))?.tag == 1 {
                    tick.recovered += samples
                } else {
                    tick.concealed += samples
                }
            case .conceal(let samples):
                ready += samples
                tick.concealed += samples
            case .silence(let samples):
                ready += samples
                tick.silent += samples
                newestEnd = nil
            case .reset: break
            }
        }
        if let newestEnd, tick.silent == 0 {
            tick.delay = now + .nanoseconds(Int64(ready) * 1_000_000_000 / 48_000) - newestEnd
        }
        if let delay = buffer.playoutDelay(at: now, pcmBuffered: max(0, ready - lastAdded)) { playing = (delay, now) }
        ready = max(0, ready - Self.tick)
        ticks.append(tick)
    }

    /// The mix, with the rules of the rooms' audio intake.
    mutating func wait(for pictures: LipSyncDelay, at now: Instant) {
        guard let delay = playoutDelay(at: now) else { return }
        buffer.minimumDelay = LipSyncDelay.audioWait(
            picture: pictures.delay(at: now), audio: delay, current: buffer.currentDelay)
    }

    /// A browser, whose audio follows late pictures at once and returns in small steps.
    mutating func wait(forPictureDelay pictureDelay: Duration?) {
        guard let delay else { return }
        let picture = pictureDelay ?? .zero
        let wanted = picture > delay ? buffer.currentDelay + (picture - delay) : buffer.minimumDelay - .milliseconds(1)
        buffer.minimumDelay = min(max(wanted, .zero), .milliseconds(200))
    }

    /// The time from the capture, as the receiver estimates it, to playout; nil when none was played lately.
    func playoutDelay(at now: Instant) -> Duration? {
        playing.flatMap { now - $0.at < .milliseconds(500) ? $0.delay : nil }
    }

    /// In per cent of the played audio.
    func concealed(in window: Range<Instant>) -> Double { part(in: window, \.concealed) }
    func recovered(in window: Range<Instant>) -> Double { part(in: window, \.recovered) }
    func silent(in window: Range<Instant>) -> Double { part(in: window, \.silent) }

    private func part(in window: Range<Instant>, _ value: (Tick) -> Int) -> Double {
        let inside = ticks.filter { window.contains($0.at) }
        guard !inside.isEmpty else { return 100 }
        return 100 * Double(inside.reduce(0) { $0 + value($1) }) / Double(inside.count * Self.tick)
    }
}
