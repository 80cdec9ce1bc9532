import Basics
import Call
import Codecs
import Dispatch
import Peer
import Threads

/// Watches the media that one of the pair receives: when the other's flashes and beeps are played, and the longest
/// gaps. Decoding runs on a queue of its own, so that the network never waits for it.
final class LipWatch: Sendable {
    /// The observations since the last call.
    struct Reading: Sendable {
        /// Beep − flash in milliseconds; positive where the audio is late.
        var offsets: [Double] = []
        var flashes = 0
        var beeps = 0
        /// The longest times between arrivals, in milliseconds.
        var audioGap = 0.0
        var pictureGap = 0.0
        /// Lost audio packets.
        var lostPackets = 0
    }

    /// The other's tile, in fractions of the canvas.
    struct Area: Sendable {
        var x, y, width, height: Double
    }

    private let queue = DispatchQueue(label: "lips")
    private let work = WorkBox(value: Work())

    /// Sets the place of the other's tile.
    func look(at area: Area) { queue.async { [work] in work.value.area = area } }

    func take(_ event: PeerEvent) {
        switch event {
        case .video(let frame): queue.async { [work] in work.value.take(frame) }
        case .audio(let packet): queue.async { [work] in work.value.take(packet) }
        default: break
        }
    }

    func read() -> Reading { queue.sync { work.value.read() } }

    /// Used on the watch's queue only.
    private struct WorkBox: @unchecked Sendable {
        let value: Work
    }

    private final class Work {
        var area: Area?
        private var decoder: VideoDecoder?
        private var order = AudioOrder()
        private let opus = try? OpusDecoder()
        // A flash of 100 ms has three ticks of a room at 30 frames a second; one may be missing or shown twice.
        private var flash = PulseDetector(threshold: 128, lengths: 0.03...0.25)
        private var beep = PulseDetector(threshold: 0.05, lengths: 0.05...0.2)
        private var envelope = Envelope()
        private var pairing = LipPairing()
        private var lastPicture: Instant?
        private var lastAudio: Instant?
        private var lastSequence: Int64?
        private var reading = Reading()

        func take(_ received: ReceivedVideoFrame) {
            reading.pictureGap = max(reading.pictureGap, Self.gap(lastPicture, received.arrival))
            lastPicture = received.arrival
            if decoder?.codec != received.frame.codec { decoder = try? VideoDecoder(codec: received.frame.codec) }
            guard let picture = try? decoder?.decode(received.frame), let brightness = brightness(of: picture) else {
                return
            }
            if let middle = flash.note(brightness, at: Self.seconds(received.captureTime)) { pairing.flash(at: middle) }
        }

        func take(_ packet: ReceivedAudioPacket) {
            if packet.isCopy { return }
            reading.audioGap = max(reading.audioGap, Self.gap(lastAudio, packet.arrival))
            lastAudio = packet.arrival
            if let last = lastSequence, packet.sequence > last {
                reading.lostPackets += Int(clamping: packet.sequence - last - 1)
            }
            lastSequence = max(lastSequence ?? packet.sequence, packet.sequence)
            guard let opus else { return }
            for step in order.take(packet) {
                var samples: [Float] = []
                switch step.payload {
                case .packet(let payload): try? opus.decode(payload, into: &samples)
                case .lost(let next): try? opus.decodeFEC(next, samples: 960, into: &samples)
                }
                envelope.take(samples, start: step.timestamp) { loudness, time in
                    if let middle = beep.note(loudness, at: time) { pairing.beep(at: middle) }
                }
            }
        }

        func read() -> Reading {
            // A gap that has not ended counts too.
            let now = MonotonicClock.now()
            reading.pictureGap = max(reading.pictureGap, Self.gap(lastPicture, now))
            reading.audioGap = max(reading.audioGap, Self.gap(lastAudio, now))
            let found = pairing.take()
            reading.offsets = found.offsets.map { $0 * 1000 }
            (reading.flashes, reading.beeps) = (found.flashes, found.beeps)
            defer { reading = Reading() }
            return reading
        }

        private static func gap(_ last: Instant?, _ now: Instant) -> Double {
            last.map { (now - $0).inMilliseconds } ?? 0
        }
        private static func seconds(_ time: Instant) -> Double { Double(time.nanoseconds) / 1e9 }

        /// The mean luma in the middle of the other's tile.
        private func brightness(of picture: Picture) -> Double? {
            guard let area else { return nil }
            let middle = PixelRectangle(
                x: Int((area.x + area.width * 0.35) * Double(picture.width)),
                y: Int((area.y + area.height * 0.35) * Double(picture.height)),
                width: Int(area.width * 0.3 * Double(picture.width)),
                height: Int(area.height * 0.25 * Double(picture.height))
            ).clipped(width: picture.width, height: picture.height)
            guard middle.width > 0, middle.height > 0 else { return nil }
            var sum = 0
            for y in middle.y..<middle.y + middle.height {
                let row = picture.y + y * picture.yStride
                for x in middle.x..<middle.x + middle.width { sum += Int(row[x]) }
            }
            return Double(sum) / Double(middle.width * middle.height)
        }
    }
}
