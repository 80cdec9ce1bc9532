package import Basics
package import Codecs
import Peer
import Synchronization

/// The intake of a participant without a peer: takes decoded pictures and samples of audio, with the times at which they
/// belong together, and hands them to the same queues as a peer's. One thread uses it.
///
/// Audio is coded in Opus as a sender would: so the jitter buffer follows the source's clock, conceals its gaps and keeps
/// lip sync, with the same rules as for a peer. At this bit rate the coding is inaudible, and costs 1 % of a core.
package final class InputIntake {
    /// Samples at 48 kHz of a packet.
    private static let packetSamples = OpusEncoder.frameSize
    private static let bitRate = BitRate.kilobits(128)
    /// References of an H.264 or HEVC stream at most: the library's memory is reserved as if it kept them all.
    private static let referenceFrames = 16

    private let video: VideoIntake
    private let inbox: AudioInbox
    private let shared: SharedDecodeBudget
    private let counters: IntakeCounters
    private var budget: DecodeBudget
    private var reservation: (pixels: PixelReservation, size: Int)?
    private var fit = CanvasFit()
    /// No picture is decoded until then, after a refusal.
    private var pausedUntil = Instant.distantPast

    private var encoder: OpusEncoder?
    /// Samples that do not fill a packet yet, and the position of the first.
    private var samples: [Float] = []
    private var position: Int64 = 0
    private var sequence: Int64 = 0
    /// Of the present stream: a new one has another.
    private var source: UInt32 = 1

    init(_ intake: Intake, services: DecodeServices, at now: Instant) {
        video = intake.video
        inbox = intake.inbox
        shared = services.shared
        counters = services.counters
        budget = DecodeBudget(SenderPixels(pixelsPerSecond: services.pixelsPerSecond, at: now), at: now)
    }

    // MARK: - Video

    /// Whether some view has a tile of the participant. Without one nothing need be decoded.
    package var isShown: Bool { video.isShown }

    /// Charges a frame of this size to the budgets of decoding. False: it must not be decoded, nor those that refer to
    /// it.
    package func admits(width: Int, height: Int, at now: Instant) -> Bool {
        guard now >= pausedUntil else {
            counters.skippedFrames.wrappingAdd(1, ordering: .relaxed)
            return false
        }
        // Before the first picture the decoder may not know its size.
        guard width > 0, height > 0 else { return true }
        let format = VideoFormat(width: width, height: height, referenceFrames: Self.referenceFrames)
        var refusal = budget.admit(format, shared: shared, at: now)
        if refusal == nil, reservation?.size != format.pixels {
            reservation = nil
            if let pixels = shared.reserve(format) {
                reservation = (pixels, format.pixels)
            } else {
                refusal = .memory
            }
        }
        guard let refusal else { return true }
        pausedUntil = now + budget.pause(after: refusal, at: now)
        counters.count(refusal)
        return false
    }

    /// Takes a decoded picture.
    ///
    /// - Parameters:
    ///   - captureTime: when it belongs to the audio of the same `captureTime`.
    ///   - now: when it was decoded.
    package func show(_ picture: Picture, rotation: Rotation, captureTime: Instant, at now: Instant) {
        counters.decodedFrames.wrappingAdd(1, ordering: .relaxed)
        video.show(
            fit.fitted(picture, rotation, to: video.canvasSize), rotation: rotation,
            size: (picture.width, picture.height), captureTime: captureTime, arrival: now)
    }

    /// Counts a frame that could not be decoded.
    package func countFault() { counters.count(.fault) }

    // MARK: - Audio

    /// Takes samples at 48 kHz.
    ///
    /// - Parameters:
    ///   - position: of the first sample on the source's clock, in samples. A step forward is a gap.
    ///   - captureTime: of the first sample.
    package func hear(_ new: [Float], position: Int64, captureTime: Instant, at now: Instant) {
        if position != self.position + Int64(samples.count) {
            samples.removeAll(keepingCapacity: true)
            self.position = position
        }
        let first = captureTime - Self.duration(samples.count)
        samples += new
        var start = 0
        while samples.count - start >= Self.packetSamples {
            post(samples[start..<start + Self.packetSamples], captureTime: first + Self.duration(start), at: now)
            start += Self.packetSamples
            self.position += Int64(Self.packetSamples)
        }
        samples.removeFirst(start)
    }

    private func post(_ part: ArraySlice<Float>, captureTime: Instant, at now: Instant) {
        let part = Array(part)
        sequence += 1
        do throws(CodecError) {
            let encoder = try readyEncoder()
            inbox.post(
                ReceivedAudioPacket(
                    payload: try encoder.encode(part), sequence: sequence, timestamp: position,
                    level: LevelMeter.headerValue(of: part), captureTime: captureTime, arrival: now,
                    ssrc: SSRC(source)))
        } catch {
            counters.audioFailures.wrappingAdd(1, ordering: .relaxed)
        }
    }

    private func readyEncoder() throws(CodecError) -> OpusEncoder {
        if let encoder { return encoder }
        let made = try OpusEncoder(bitRate: Self.bitRate, application: .audio)
        encoder = made
        return made
    }

    /// A new stream begins, whose clock has nothing to do with the last one's.
    package func restart() {
        samples.removeAll()
        source &+= 1
        sequence = 0
        encoder = nil
    }

    private static func duration(_ samples: Int) -> Duration { .nanoseconds(Int64(samples) * 1_000_000_000 / 48_000) }
}
