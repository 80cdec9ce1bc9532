import Basics
import Codecs
import Dispatch
import Peer
import Recording

/// Writes what a participant receives to an MP4: H.264 as it came, VP8 encoded again. When H.264 changes its size, a new part begins
/// (`OUT-2.mp4`), since the file's one track has one size. Work runs on a queue of its own, so the network never waits for it.
final class CallSaver: Sendable {
    private let queue = DispatchQueue(label: "call-saver")
    private let work: SaverBox

    init(file: String) throws {
        work = SaverBox(value: SaverWork(file: file))
    }

    func append(_ frame: ReceivedVideoFrame) {
        queue.async { [work] in work.value.append(frame) }
    }

    func append(_ packet: ReceivedAudioPacket) {
        queue.async { [work] in work.value.append(packet) }
    }

    /// Closes every part; says which files there are now.
    func finish() async throws -> String {
        let recorders: [MP4Recorder] = await withCheckedContinuation { continuation in
            queue.async { [work] in continuation.resume(returning: work.value.end()) }
        }
        var parts: [String] = []
        for recorder in recorders {
            let summary = try await recorder.finish()
            parts.append("\(summary.file) (\(Int(summary.duration.inSeconds * 10)) tenths of a second, \(summary.bytes) bytes)")
        }
        return parts.isEmpty ? "nothing: no keyframe arrived" : parts.joined(separator: ", ")
    }
}

/// Touched on the saver's queue only.
private struct SaverBox: @unchecked Sendable {
    let value: SaverWork
}

private final class SaverWork {
    private let file: String
    private var recorders: [MP4Recorder] = []
    private var size = (width: 0, height: 0)
    private var decoder: VideoDecoder?
    private var encoder: (any VideoEncoder)?
    private var order = AudioOrder()
    private let opus = try? OpusDecoder()

    init(file: String) {
        self.file = file
    }

    func append(_ received: ReceivedVideoFrame) {
        var frame = received.frame
        frame.timestamp = received.captureTime.ticks(at: 90_000)
        if frame.codec != .h264 {
            guard let again = transcode(frame) else { return }
            frame = again
        }
        if frame.isKeyframe, (frame.width, frame.height) != size || recorders.isEmpty {
            guard frame.width > 0, frame.height > 0 else { return }
            size = (frame.width, frame.height)
            begin()
        }
        recorders.last?.append(frame)
    }

    func append(_ packet: ReceivedAudioPacket) {
        guard let recorder = recorders.last, let opus else { return }
        for step in order.take(packet) {
            var samples: [Float] = []
            switch step.payload {
            case .packet(let payload): try? opus.decode(payload, into: &samples)
            case .lost(let next): try? opus.decodeFEC(next, samples: 960, into: &samples)
            }
            if !samples.isEmpty { recorder.append(audio: samples, timestamp: step.timestamp) }
        }
    }

    func end() -> [MP4Recorder] {
        defer { recorders = [] }
        return recorders
    }

    private func begin() {
        var path = file
        if !recorders.isEmpty {
            let dot = file.lastIndex(of: ".") ?? file.endIndex
            path = file[..<dot] + "-\(recorders.count + 1)" + file[dot...]
        }
        if let recorder = try? MP4Recorder(file: path, width: size.width, height: size.height, framesPerSecond: 30, onFailure: { _ in }) {
            recorders.append(recorder)
        }
    }

    private func transcode(_ frame: EncodedVideoFrame) -> EncodedVideoFrame? {
        if decoder == nil { decoder = try? VideoDecoder(codec: frame.codec) }
        guard var picture = try? decoder?.decode(frame) else { return nil }
        if encoder == nil {
            encoder = try? makeVideoEncoder(
                VideoEncoderConfiguration(
                    codec: .h264, width: picture.width & ~1, height: picture.height & ~1, framesPerSecond: 30,
                    bitRate: BitRate(bitsPerSecond: max(200_000, picture.width * picture.height * 2))))
        }
        guard let encoder else { return nil }
        let width = encoder.configuration.width, height = encoder.configuration.height
        if picture.width != width || picture.height != height {
            let scaled = Picture(width: width, height: height)
            Scaler.scale(from: picture, into: scaled, at: PixelRectangle(x: 0, y: 0, width: width, height: height))
            picture = scaled
        }
        guard var again = try? encoder.encode(picture, timestamp: frame.timestamp, forceKeyframe: false) else { return nil }
        (again.width, again.height) = (width, height)
        return again
    }
}
