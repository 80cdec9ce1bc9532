import Basics
import Codecs
import Dispatch
import Peer
import Recording

/// Writes the media that a participant receives to one MP4: H.264 without a change, VP8 transcoded. The picture's size
/// may change with the link. The work runs on a queue of its own, so the network never waits for it.
final class CallSaver: Sendable {
    private let queue = DispatchQueue(label: "call-saver")
    private let work: SaverBox

    init(file: String) throws {
        work = SaverBox(value: SaverWork(file: file))
    }

    func append(_ frame: ReceivedVideoFrame) {
        queue.async { [work] in work.value.append(frame) }
    }

    /// - Parameter isFirst: the packet is the first of another connection, whose numbers begin anew.
    func append(_ packet: ReceivedAudioPacket, isFirst: Bool = false) {
        queue.async { [work] in
            if isFirst { work.value.beginAudio() }
            work.value.append(packet)
        }
    }

    /// Closes the file and describes it.
    func finish() async throws -> String {
        let recorder: MP4Recorder? = await withCheckedContinuation { continuation in
            queue.async { [work] in continuation.resume(returning: work.value.end()) }
        }
        guard let recorder else { return "nothing: no keyframe arrived" }
        let summary = try await recorder.finish()
        return "\(summary.file) (\(Int(summary.duration.inSeconds * 10)) tenths of a second, \(summary.bytes) bytes)"
    }
}

/// Used on the saver's queue only.
private struct SaverBox: @unchecked Sendable {
    let value: SaverWork
}

private final class SaverWork {
    private let file: String
    private var recorder: MP4Recorder?
    private var decoder: VideoDecoder?
    private var encoder: (any VideoEncoder)?
    private var order = AudioOrder()
    private let opus = try? OpusDecoder()
    /// The times after which the next frame and the next samples may begin: those of another connection may be a bit
    /// earlier than the last ones of the one before.
    private var videoEnd = Int64.min, audioEnd = Int64.min

    init(file: String) {
        self.file = file
    }

    func append(_ received: ReceivedVideoFrame) {
        var frame = received.frame
        frame.timestamp = max(received.captureTime.ticks(at: 90_000), videoEnd)
        videoEnd = frame.timestamp + 1
        if frame.codec != .h264 {
            guard let again = transcode(frame) else { return }
            frame = again
        }
        if recorder == nil, frame.isKeyframe, frame.width > 0, frame.height > 0 {
            recorder = try? MP4Recorder(
                file: file, width: frame.width, height: frame.height, framesPerSecond: 30, sizeMayChange: true,
                onFailure: { _ in })
        }
        recorder?.append(frame)
    }

    func append(_ packet: ReceivedAudioPacket) {
        guard let recorder, let opus else { return }
        for step in order.take(packet) {
            var samples: [Float] = []
            switch step.payload {
            case .packet(let payload): try? opus.decode(payload, into: &samples)
            case .lost(let next): try? opus.decodeFEC(next, samples: 960, into: &samples)
            }
            guard !samples.isEmpty, step.timestamp >= audioEnd else { continue }
            recorder.append(audio: samples, timestamp: step.timestamp)
            audioEnd = step.timestamp
        }
    }

    func beginAudio() { order = AudioOrder() }

    func end() -> MP4Recorder? {
        defer { recorder = nil }
        return recorder
    }

    private func transcode(_ frame: EncodedVideoFrame) -> EncodedVideoFrame? {
        if decoder == nil { decoder = try? VideoDecoder(codec: frame.codec) }
        guard var picture = try? decoder?.decode(frame) else { return nil }
        // The encoder needs even sizes, so odd ones lose a row or column.
        let (width, height) = (picture.width & ~1, picture.height & ~1)
        if encoder?.configuration.width != width || encoder?.configuration.height != height {
            encoder = try? makeVideoEncoder(
                VideoEncoderConfiguration(
                    codec: .h264, width: width, height: height, framesPerSecond: 30,
                    bitRate: BitRate(bitsPerSecond: max(200_000, width * height * 2))))
        }
        guard let encoder else { return nil }
        if picture.width != width || picture.height != height {
            let scaled = Picture(width: width, height: height)
            Scaler.scale(from: picture, into: scaled, at: PixelRectangle(x: 0, y: 0, width: width, height: height))
            picture = scaled
        }
        guard var again = try? encoder.encode(picture, timestamp: frame.timestamp, forceKeyframe: false) else {
            return nil
        }
        (again.width, again.height) = (width, height)
        return again
    }
}
