import Basics
import Codecs
import Threads

/// The decoders of an input in its process, for the thread that plays it.
final class RemoteDecoding {
    /// How long one packet may take. A decoder that takes longer is held up by its data.
    private static let limit = Duration.seconds(5)
    /// What one packet may become: the end of a stream has the most that a decoder keeps.
    private static let mostPictures = 64
    private static let mostSamples = 48_000 * 60

    private let process: SourceProcess
    private let clock: () -> Instant
    private let isCancelled: () -> Bool
    private var pool: PicturePool?

    init(
        _ process: SourceProcess, isCancelled: @escaping () -> Bool,
        clock: @escaping () -> Instant = { MonotonicClock.now() }
    ) {
        (self.process, self.isCancelled, self.clock) = (process, isCancelled, clock)
    }

    /// Sends a request, and hands over what it makes. Returns the size of the decoder's pictures.
    func run(
        _ request: DecodingRequest, picture: (Picture, Duration?) -> Void = { _, _ in },
        samples: ([Float], Duration?) -> Void = { _, _ in }
    ) throws(CodecError) -> (width: Int, height: Int) {
        let deadline = clock() + Self.limit
        let check = { [clock, isCancelled] in
            if isCancelled() { throw DemuxError.cancelled }
            if clock() > deadline {
                throw DemuxError.failed("a decoder took longer than \(Self.limit) for one packet, and was ended")
            }
        }
        let isFaulty: Bool
        let size: (width: Int, height: Int)
        do {
            try process.decoding.send(request.message, check: check)
            (size, isFaulty) = try results(picture, samples, check)
        } catch {
            throw .failed(operation: "decode", reason: "\(process.failed(error))")
        }
        if isFaulty { throw .invalidData("decode") }
        return size
    }

    private func results(
        _ deliver: (Picture, Duration?) -> Void, _ hear: ([Float], Duration?) -> Void, _ check: () throws -> Void
    ) throws -> (size: (width: Int, height: Int), isFaulty: Bool) {
        var (pictures, samples) = (0, 0)
        return try withoutActuallyEscaping(check) { check in
            while true {
                try check()
                switch try DecodingReply(try process.decoding.receive(check: check)) {
                case .picture(let width, let height, let time):
                    pictures += 1
                    guard pictures <= Self.mostPictures, let picture = self.picture(width, height) else {
                        throw Channel.Failure.malformed
                    }
                    // The process may write on; that is its own picture.
                    PackedPicture.read(process.pictures, into: picture)
                    try process.decoding.send(DecodingRequest.taken.message, check: check)
                    deliver(picture, time)
                case .samples(let more, let time):
                    samples += more.count
                    guard samples <= Self.mostSamples else { throw Channel.Failure.malformed }
                    hear(more, time)
                case .done(let width, let height, let isFaulty):
                    // For the budget of decoding: what is larger than the decoder may be is not true.
                    let isTrue =
                        PackedPicture.byteCount(
                            width: Int(width), height: Int(height), maxPixels: 2 * process.maxPixels) != nil
                    guard isTrue || width == 0 || height == 0 else { throw Channel.Failure.malformed }
                    return ((Int(width), Int(height)), isFaulty)
                }
            }
        }
    }

    private func picture(_ width: UInt32, _ height: UInt32) -> Picture? {
        let (width, height) = (Int(width), Int(height))
        guard PackedPicture.byteCount(width: width, height: height, maxPixels: process.maxPixels) != nil else {
            return nil
        }
        if let pool, pool.width == width, pool.height == height { return pool.make() }
        let pool = PicturePool(width: width, height: height, limit: 4)
        self.pool = pool
        return pool.make()
    }
}

/// As `InputVideoDecoder`, in the process of the input.
final class RemoteVideoDecoder {
    let rotation: Rotation
    /// The size of the pictures as far as it is known; zero before the first.
    private(set) var size: (width: Int, height: Int)
    private let decoding: RemoteDecoding

    init(_ decoding: RemoteDecoding, rotation: Rotation, width: UInt32, height: UInt32) {
        (self.decoding, self.rotation) = (decoding, rotation)
        size = (Int(min(width, 16_384)), Int(min(height, 16_384)))
    }

    /// Decodes a packet, or what is left at the end of the stream (nil), and hands over each picture with the time at
    /// which it is to be shown.
    func decode(_ packet: InputPacket?, _ deliver: (Picture, Duration?) -> Void) throws(CodecError) {
        size = try decoding.run(packet.map { $0.take() } ?? .drain(.video), picture: deliver)
    }

    func flush() { _ = try? decoding.run(.flush(.video)) }
}

/// As `InputAudioDecoder`, in the process of the input.
final class RemoteAudioDecoder {
    private let decoding: RemoteDecoding

    init(_ decoding: RemoteDecoding) { self.decoding = decoding }

    /// Appends the samples of a packet, or those that are left at the end of the stream (nil). Returns the time of the
    /// first of them; nil: it has none.
    func decode(_ packet: InputPacket?, into samples: inout [Float]) throws(CodecError) -> Duration? {
        var first: Duration?
        var heard: [Float] = []
        _ = try decoding.run(packet.map { $0.take() } ?? .drain(.audio)) { _, _ in
        } samples: { more, time in
            if first == nil { first = time }
            heard += more
        }
        samples += heard
        return first
    }

    func flush() { _ = try? decoding.run(.flush(.audio)) }
}
