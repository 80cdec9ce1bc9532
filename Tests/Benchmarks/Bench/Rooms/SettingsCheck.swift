import Basics
import CFFmpeg
import Codecs

/// Checks that the bare encoders have the settings of the server's: the same pictures must give the same bytes.
enum SettingsCheck {
    /// The differences, for a note under the tables.
    static func differences() throws -> [VideoCodec] {
        let width = RoomPlan.width, height = RoomPlan.height
        let scene = HeadScene(width: width, height: height, loop: 300)
        let canvas = try BareCanvas(width: width, height: height)
        let bareH264 = try BareH264Encoder(
            width: width, height: height, framesPerSecond: RoomPlan.framesPerSecond, bitRate: RoomPlan.bitRate)
        let bareVP8 = try BareVP8Encoder(
            width: width, height: height, framesPerSecond: RoomPlan.framesPerSecond, bitRate: RoomPlan.bitRate)
        // The configuration of `Rendition`.
        let encoders = try VideoCodec.received.map { codec in
            try makeVideoEncoder(
                VideoEncoderConfiguration(
                    codec: codec, width: width, height: height, framesPerSecond: Double(RoomPlan.framesPerSecond),
                    bitRate: RoomPlan.bitRate, temporalLayers: codec == .vp8 ? 2 : 1))
        }
        var different: Set<VideoCodec> = []
        for index in 0..<20 {
            let picture = scene.picture(index)
            canvas.fill(from: picture)
            let timestamp = Int64(index * 90_000 / RoomPlan.framesPerSecond)
            for encoder in encoders {
                let codec = encoder.configuration.codec
                let ours = try encoder.encode(picture, timestamp: timestamp, forceKeyframe: index == 0)?.data ?? []
                var bare: [UInt8] = []
                switch codec {
                case .h264: try bareH264.encode(canvas, timestamp: timestamp) { bare += $0 }
                case .vp8: try bareVP8.encode(canvas, timestamp: timestamp) { bare += $0 }
                case .av1: continue
                }
                if codec == .h264 ? slices(ours) != slices(bare) : ours != bare { different.insert(codec) }
            }
        }
        return VideoCodec.received.filter(different.contains)
    }

    /// The bytes without the SEI text of x264, which the server removes.
    private static func slices(_ data: [UInt8]) -> [ArraySlice<UInt8>] {
        H264.units(inAnnexB: data).filter { [1, 5, 7, 8].contains(AnnexB.type(of: $0, in: data)) }.map { data[$0] }
    }
}

extension BareCanvas {
    fileprivate func fill(from picture: Picture) {
        let to = frame.pointee
        guard let y = to.data.0, let u = to.data.1, let v = to.data.2 else { return }
        for row in 0..<picture.height {
            (y + row * Int(to.linesize.0)).update(from: picture.y + row * picture.yStride, count: picture.width)
        }
        for row in 0..<picture.chromaHeight {
            (u + row * Int(to.linesize.1)).update(from: picture.u + row * picture.uStride, count: picture.chromaWidth)
            (v + row * Int(to.linesize.2)).update(from: picture.v + row * picture.vStride, count: picture.chromaWidth)
        }
    }
}
