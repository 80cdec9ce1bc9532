import Basics
import Testing

@Suite struct ByteReaderTests {
    @Test("numbers are read in network order")
    func order() throws {
        let bytes: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
        var reader = ByteReader(bytes.span)
        #expect(try reader.readUInt8() == 0x01)
        #expect(try reader.readUInt16() == 0x0203)
        #expect(try reader.readUInt24() == 0x040506)
        #expect(try reader.readUInt32() == 0x0708090A)
        #expect(reader.remaining == 0)
    }

    @Test("a read past the end throws and moves nothing")
    func truncated() {
        let bytes: [UInt8] = [1, 2, 3]
        var reader = ByteReader(bytes.span)
        var failed = false
        do { _ = try reader.readUInt32() } catch { failed = true }
        #expect(failed)
        #expect(reader.remaining == 3)
        failed = false
        do { _ = try reader.take(-1) } catch { failed = true }
        #expect(failed)
    }
}
