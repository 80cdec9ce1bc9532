/// The Castagnoli checksum of SCTP packets (RFC 9260 appendix A), computed byte by byte.
enum CRC32C {
    private static let table: [UInt32] = (0..<256 as Range<UInt32>).map { index in
        (0..<8).reduce(index) { value, _ in value & 1 == 1 ? value >> 1 ^ 0x82F6_3B78 : value >> 1 }
    }

    /// The checksum with the four bytes at `zeroed`, the SCTP header's own checksum field, taken as zero.
    static func checksum(_ bytes: [UInt8], zeroed: Range<Int> = 8..<12) -> UInt32 {
        var crc: UInt32 = ~0
        table.withUnsafeBufferPointer { table in
            bytes.withUnsafeBufferPointer { bytes in
                for index in 0..<bytes.count {
                    let value = zeroed.contains(index) ? 0 : bytes[index]
                    crc = table[Int((crc ^ UInt32(value)) & 0xFF)] ^ crc >> 8
                }
            }
        }
        return ~crc
    }
}
