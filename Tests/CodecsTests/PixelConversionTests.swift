import CFFmpeg
import Testing

@testable import Codecs

@Suite struct PixelConversionTests {
    private func frame(_ format: AVPixelFormat, range: AVColorRange, luma: Int, width: Int32 = 50, height: Int32 = 38)
        throws
        -> Frame
    {
        let frame = try Frame()
        frame.pointer.pointee.format = format.rawValue
        frame.pointer.pointee.width = width
        frame.pointer.pointee.height = height
        frame.pointer.pointee.color_range = range
        #expect(av_frame_get_buffer(frame.pointer, 0) == 0)
        let isWide = format == AV_PIX_FMT_YUV420P10LE
        let planes = [frame.pointer.pointee.data.0, frame.pointer.pointee.data.1, frame.pointer.pointee.data.2]
        let strides = [
            frame.pointer.pointee.linesize.0, frame.pointer.pointee.linesize.1, frame.pointer.pointee.linesize.2,
        ]
        let isHalfHeight = format == AV_PIX_FMT_YUV420P || format == AV_PIX_FMT_YUVJ420P || isWide
        for (index, plane) in planes.enumerated() {
            let value = index == 0 ? luma : 128
            let rows = index == 0 || !isHalfHeight ? Int(height) : (Int(height) + 1) / 2
            guard let plane else { continue }
            for offset in 0..<Int(strides[index]) * rows {
                plane[offset] = isWide ? UInt8((value << 2) >> (offset & 1 == 0 ? 0 : 8) & 255) : UInt8(value)
            }
        }
        return frame
    }

    @Test(
        "Every pixel format and range becomes limited I420",
        arguments: [
            (AV_PIX_FMT_YUV420P.rawValue, AVCOL_RANGE_MPEG.rawValue, 200, 200),
            (AV_PIX_FMT_YUV420P.rawValue, AVCOL_RANGE_JPEG.rawValue, 255, 235),
            (AV_PIX_FMT_YUVJ420P.rawValue, AVCOL_RANGE_UNSPECIFIED.rawValue, 0, 16),
            (AV_PIX_FMT_YUVJ444P.rawValue, AVCOL_RANGE_JPEG.rawValue, 255, 235),
            (AV_PIX_FMT_YUV422P.rawValue, AVCOL_RANGE_UNSPECIFIED.rawValue, 100, 100),
            (AV_PIX_FMT_YUV420P10LE.rawValue, AVCOL_RANGE_MPEG.rawValue, 120, 120),
        ])
    func formats(format: Int32, range: UInt32, luma: Int, expected: Int) throws {
        var converter = PixelConverter()
        let picture = try converter.picture(
            from: frame(AVPixelFormat(rawValue: format), range: AVColorRange(rawValue: range), luma: luma))
        #expect(picture.width == 50 && picture.height == 38)
        #expect(abs(Int(picture.y[37 * picture.yStride + 49]) - expected) <= 1)
        #expect(abs(Int(picture.u[18 * picture.uStride + 24]) - 128) <= 1 && abs(Int(picture.v[0]) - 128) <= 1)
    }

    @Test("I420 of limited range is used without a copy")
    func noCopy() throws {
        let source = try frame(AV_PIX_FMT_YUV420P, range: AVCOL_RANGE_UNSPECIFIED, luma: 77)
        let plane = source.pointer.pointee.data.0
        var converter = PixelConverter()
        let picture = try converter.picture(from: source)
        #expect(picture.y == plane)
        let copy = picture.copy()
        #expect(copy.y != plane && copy.y[0] == 77)
    }
}
