import Basics
import Fuzzing

@testable import Sockets

/// Frames of RFC 4571 from a TCP stream with any segmentation.
enum FramingBody {
    static let target = FuzzTarget(
        "framing", covers: "frames of a TCP stream, however it was cut", maximumLength: 16_384,
        seeds: { [[4, 0, 3, 1, 2, 3, 0, 0, 0, 1, 9], [1, 0, 1, 7, 255, 255, 1]] }, body: run)

    private static func run(_ input: FuzzInput, _ work: inout Work) {
        var cut = input
        let size = max(1, Int(cut.byte()))
        let stream = cut.rest()
        work.step(bytes: stream.count)
        let whole = frames(stream, in: max(stream.count, 1), &work)
        let pieces = frames(stream, in: size, &work)
        if whole.isValid == pieces.isValid, whole.frames != pieces.frames {
            fatalError("framing: other frames when cut by \(size)")
        }
        if whole.isValid != pieces.isValid { fatalError("framing: valid or not by the cut") }
        work.weigh()
    }

    private static func frames(_ stream: [UInt8], in size: Int, _ work: inout Work) -> (
        frames: [[UInt8]], isValid: Bool
    ) {
        var reader = FrameReader()
        var frames: [[UInt8]] = []
        for start in stride(from: 0, to: stream.count, by: size) {
            var piece = Array(stream[start..<min(stream.count, start + size)])
            let isValid = piece.withUnsafeMutableBytes { bytes in reader.append(bytes) { frames.append(Array($0)) } }
            work.step()
            if !isValid { return (frames, false) }
        }
        return (frames, true)
    }
}
