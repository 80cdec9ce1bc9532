import Basics
import Codecs
import Threads

/// Has an input's packets decoded when they are due, and hands the result to the room. One thread runs it.
final class InputPlayer {
    /// How often the player looks for packets that have come and are due earlier.
    private static let turn = Duration.milliseconds(10)
    /// A source's clock is set by the newest packet that came within this time after the first: a server may begin with
    /// some seconds that it had kept.
    private static let settling = Duration.milliseconds(250)
    /// Pictures and audio that are so late are decoded but not played.
    private static let stale = Duration.milliseconds(400)
    /// Video that is so late is not decoded any more, since the machine is too slow for it …
    private static let hopeless = Duration.seconds(1)
    /// … except just after the start.
    private static let grace = Duration.seconds(4)
    /// Without a keyframe for this long the stream refreshes its pictures in another way.
    private static let keyframePatience = Duration.seconds(10)
    /// What came since the last keyframe of a picture that nobody sees, to begin with when somebody does.
    private static let mostKept = 120
    private static let mostKeptBytes = 4 << 20
    private static let rate: Int64 = 48_000

    private let queue: PacketQueue
    private let video: RemoteVideoDecoder?
    private let audio: RemoteAudioDecoder?
    private let sink: any InputSink
    private let isLive: Bool
    private var clock: PlayoutClock

    private var firstSeen: Instant?
    private var startedAt = Instant.distantPast
    private var awaitsKeyframe = false
    private var awaitingSince = Instant.distantPast
    private var kept: [InputPacket] = []
    private var keptBytes = 0
    private var lastPicture: Duration?
    /// The next sample's position.
    private var position: Int64?

    init(
        _ queue: PacketQueue, video: RemoteVideoDecoder?, audio: RemoteAudioDecoder?, sink: any InputSink, isLive: Bool
    ) {
        (self.queue, self.video, self.audio, self.sink, self.isLive) = (queue, video, audio, sink, isLive)
        clock = PlayoutClock(isLive ? .source : .own)
    }

    /// Plays until the queue ends.
    func run() {
        sink.restart()
        while true {
            let now = MonotonicClock.now()
            switch queue.head {
            case .ended: return finish()
            case .nothing: MonotonicClock.sleep(until: now + Self.turn)
            case .item(.flush, let kind):
                queue.removeFirst(kind)
                flush(kind)
            case .item(.packet(let packet, let time, let arrival), let kind):
                guard settle(time, arrival, at: now) else {
                    MonotonicClock.sleep(until: now + Self.turn)
                    continue
                }
                let due = clock.instant(of: time)
                if due > now {
                    MonotonicClock.sleep(until: min(due, now + Self.turn))
                    continue
                }
                queue.removeFirst(kind)
                clock.received(time, arrival: arrival, at: now)
                if kind == .video { play(video: packet, due: due, at: now) } else { play(audio: packet) }
            }
        }
    }

    /// Sets the clock by the first packets. Returns whether it is set.
    private func settle(_ time: Duration, _ arrival: Instant, at now: Instant) -> Bool {
        if clock.isAnchored { return true }
        if isLive {
            let first = firstSeen ?? now
            firstSeen = first
            guard now - first >= Self.settling || queue.isEnded, let newest = queue.newest else { return false }
            clock.anchor(newest.time, arrival: newest.arrival)
        } else {
            clock.anchor(time, arrival: now)
        }
        startedAt = now
        return true
    }

    // MARK: - Video

    private func play(video packet: InputPacket, due: Instant, at now: Instant) {
        guard sink.isShown else { return keep(packet) }
        if !kept.isEmpty {
            let waiting = kept
            forgetKept()
            for packet in waiting { decode(packet, at: MonotonicClock.now()) }
            awaitsKeyframe = false
        }
        if now - due > Self.hopeless, now - startedAt > Self.grace { awaitKeyframe(at: now) }
        if awaitsKeyframe, !packet.isKeyframe, now - awaitingSince < Self.keyframePatience { return }
        awaitsKeyframe = false
        decode(packet, at: now)
    }

    private func awaitKeyframe(at now: Instant) {
        if !awaitsKeyframe { awaitingSince = now }
        awaitsKeyframe = true
    }

    /// Keeps a packet while nobody sees the picture.
    private func keep(_ packet: InputPacket) {
        awaitKeyframe(at: MonotonicClock.now())
        if packet.isKeyframe { forgetKept() } else if kept.isEmpty { return }
        kept.append(packet)
        keptBytes += packet.byteCount
        if kept.count > Self.mostKept || keptBytes > Self.mostKeptBytes { forgetKept() }
    }

    private func forgetKept() {
        kept.removeAll()
        keptBytes = 0
    }

    private func decode(_ packet: InputPacket?, at now: Instant) {
        guard let video else { return }
        let size = video.size
        guard sink.admits(width: size.width, height: size.height, at: now) else { return awaitKeyframe(at: now) }
        do throws(CodecError) {
            try video.decode(packet) { picture, time in
                guard let time = time ?? lastPicture else { return }
                lastPicture = time
                let now = MonotonicClock.now()
                let capture = clock.instant(of: time)
                if now - capture > Self.stale { return }
                sink.show(picture, rotation: video.rotation, captureTime: capture, at: now)
            }
        } catch {
            sink.countFault()
        }
    }

    // MARK: - Audio

    private func play(audio packet: InputPacket?) {
        guard let audio else { return }
        var samples: [Float] = []
        let time: Duration?
        do throws(CodecError) {
            time = try audio.decode(packet, into: &samples)
        } catch {
            return sink.countFault()
        }
        guard !samples.isEmpty else { return }
        // A few samples are held back by the filter, so the count of samples is the exact clock, and the packets' times
        // correct it where they are far off.
        let wanted = time.map(Self.samples)
        guard var start = position ?? wanted else { return }
        if let wanted, abs(wanted - start) > Self.rate / 25 {
            if wanted < start, start - wanted < Self.rate {
                // The same sound twice.
                let twice = min(Int(start - wanted), samples.count)
                samples.removeFirst(twice)
            } else {
                start = wanted
            }
        }
        position = start + Int64(samples.count)
        if samples.isEmpty { return }
        let now = MonotonicClock.now()
        let capture = clock.instant(of: .nanoseconds(Self.nanoseconds(start)))
        if now - capture > Self.stale { return }
        sink.hear(samples, position: start, captureTime: capture, at: now)
    }

    private static func samples(_ time: Duration) -> Int64 {
        let (seconds, rest) = time.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return seconds &* rate &+ rest &* rate / 1_000_000_000
    }

    private static func nanoseconds(_ samples: Int64) -> Int64 {
        let (seconds, rest) = samples.quotientAndRemainder(dividingBy: rate)
        return seconds &* 1_000_000_000 &+ rest &* 1_000_000_000 / rate
    }

    // MARK: - Ends

    private func flush(_ kind: DemuxedPacket.Kind) {
        switch kind {
        case .video:
            if sink.isShown { decode(nil, at: MonotonicClock.now()) }
            video?.flush()
        case .audio:
            play(audio: nil)
            audio?.flush()
        }
    }

    private func finish() {
        flush(.video)
        flush(.audio)
    }
}
