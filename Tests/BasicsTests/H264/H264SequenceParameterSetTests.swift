import Testing

@testable import Basics

@Suite("H264SequenceParameterSet")
struct H264SequenceParameterSetTests {
    /// From x264, 1280×720: 45 whole macroblock rows.
    private static let whole: [UInt8] = [0x67, 0x42, 0xC0, 0x1F, 0xDA, 0x01, 0x40, 0x16, 0xEC, 0x04, 0x40]
    /// Built by hand: baseline, level 3.1, 40×23 macroblocks, 8 rows cropped at the bottom: 640×360.
    private static let cropped: [UInt8] = {
        // profile, flags, level, then ue: id 0, frame_num 0, order type 2, references 1, gaps 0, columns 39, rows 22
        var bits: [UInt8] = []
        func ue(_ value: Int) {
            let width = (value + 1).bitWidth - (value + 1).leadingZeroBitCount
            bits += Array(repeating: 0, count: width - 1) + (0..<width).reversed().map { UInt8((value + 1) >> $0 & 1) }
        }
        for value in [0, 0, 2, 1] { ue(value) }
        bits.append(0)
        for value in [39, 22] { ue(value) }
        bits += [1, 1, 1]
        for value in [0, 0, 0, 4] { ue(value) }
        bits += [0, 1]
        while bits.count % 8 != 0 { bits.append(0) }
        let bytes = stride(from: 0, to: bits.count, by: 8).map { index in
            (0..<8).reduce(UInt8(0)) { $0 << 1 | bits[index + $1] }
        }
        return [0x67, 66, 0xE0, 31] + bytes
    }()

    @Test("coded and shown size, references and format are read")
    func sizes() throws {
        let set = try #require(H264SequenceParameterSet(Self.cropped))
        #expect((set.codedWidth, set.codedHeight) == (640, 368))
        #expect(set.shownSize == H264SequenceParameterSet.Size(width: 640, height: 360))
        #expect(set.referenceFrames == 1 && set.isPlain)
    }

    @Test("a set that is truncated at any byte is refused or has no size, and nothing traps")
    func truncation() {
        for count in 0..<Self.cropped.count {
            _ = H264SequenceParameterSet(Array(Self.cropped.prefix(count)))
            _ = H264SequenceParameterSet(Array(Self.whole.prefix(count)))
        }
        #expect(H264SequenceParameterSet(Array(Self.cropped.prefix(6))) == nil)
        #expect(H264SequenceParameterSet([0x68] + Array(Self.cropped.dropFirst())) == nil)
        _ = H264SequenceParameterSet([UInt8](repeating: 0x67, count: 1 << 16))
        #expect(H264SequenceParameterSet([0x67] + [UInt8](repeating: 0, count: 1 << 16)) == nil)
    }
}

extension H264SequenceParameterSet {
    fileprivate init?(_ bytes: [UInt8]) { self.init(bytes.span) }
}
