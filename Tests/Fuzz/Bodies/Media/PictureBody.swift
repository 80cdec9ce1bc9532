import Basics
import Fuzzing

@testable import Codecs

/// Frames from outside, for the decoders and the parsers of H.264 byte streams.
enum PictureBody {
    static let target = FuzzTarget(
        "pictures", covers: "frames of H.264 and VP8 into the decoders; Annex B",
        limits: WorkLimits(
            base: .milliseconds(100), perByte: .microseconds(2), perStep: .milliseconds(60), memory: 192 << 20),
        maximumLength: 16_384, seeds: { seeds }, body: run)

    private static func run(_ input: FuzzInput, _ work: inout Work) {
        var input = input
        let codec = input.byte() & 1 == 0 ? VideoCodec.h264 : .vp8
        guard let decoder = try? VideoDecoder(codec: codec) else { return }
        work.start()
        for _ in 0..<6 where !input.isEmpty {
            let shape = input.byte()
            let data = input.chunk()
            work.step(bytes: data.count)
            if codec == .h264 { read(data) }
            if shape & 2 != 0 { decoder.reset() }
            _ = try? decoder.decode(
                EncodedVideoFrame(codec: codec, data: data, isKeyframe: shape & 1 != 0, timestamp: Int64(shape)))
        }
        work.weigh()
    }

    private static func read(_ data: [UInt8]) {
        for unit in H264.units(inAnnexB: data) {
            guard data.indices.contains(unit.lowerBound), unit.upperBound <= data.count, !unit.isEmpty else {
                fatalError("pictures: a unit outside of its data")
            }
            _ = AnnexB.type(of: unit, in: data)
        }
        _ = AnnexB.parameterSets(data)
        var copy = AnnexB.normalized(data)
        SequenceParameterSet.allowGaps(in: &copy)
    }

    private static var seeds: [[UInt8]] {
        VideoCodec.received.compactMap { codec in
            let configuration = VideoEncoderConfiguration(
                codec: codec, width: 160, height: 90, framesPerSecond: 15, bitRate: .kilobits(100))
            guard let encoder = try? makeVideoEncoder(configuration) else { return nil }
            var script = FuzzScript()
            script.byte(codec == .h264 ? 0 : 1)
            for index in 0..<4 {
                let picture = Picture(width: 160, height: 90)
                picture.fill(y: UInt8(60 + index * 20), u: 90, v: 160)
                guard
                    let frame = try? encoder.encode(picture, timestamp: Int64(index) * 6000, forceKeyframe: index == 0)
                else { continue }
                script.byte(frame.isKeyframe ? 1 : 0)
                script.chunk(frame.data)
            }
            return script.bytes
        }
    }
}
