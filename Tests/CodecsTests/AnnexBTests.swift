import Basics
import Codecs
import Testing

@Suite struct AnnexBTests {
    @Test("Units are found behind start codes of both lengths, without their trailing zeros")
    func units() {
        let data: [UInt8] = [0, 0, 0, 1, 0x67, 1, 2, 0, 0, 1, 0x68, 3, 0, 0, 0, 1, 0x65, 9, 0, 0, 3, 1, 0]
        let units = H264.units(inAnnexB: data)
        #expect(units == [4..<7, 10..<12, 16..<22])
        #expect(units.map { AnnexB.type(of: $0, in: data) } == [7, 8, 5])
        #expect(AnnexB.parameterSets(data) == [0, 0, 0, 1, 0x67, 1, 2, 0, 0, 0, 1, 0x68, 3])
        #expect(
            AnnexB.parameterSets([0, 0, 1, 0x68, 1]) == [] && H264.units(inAnnexB: [0, 0, 1]) == []
                && H264.units(inAnnexB: []) == [])
    }
}
