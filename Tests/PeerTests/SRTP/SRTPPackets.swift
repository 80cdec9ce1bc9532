import Basics

@testable import Peer

/// Packets and keys for the suites of SRTP.
protocol SRTPPackets {}

extension SRTPPackets {
    /// Bytes from hexadecimal digits; spaces are ignored.
    func hex(_ text: String) -> [UInt8] {
        let digits = text.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    /// Runs one in-place operation on a copy with room behind it.
    func apply(
        _ packet: [UInt8], _ body: (UnsafeMutableRawBufferPointer, Int) throws(SRTPError) -> Int
    ) throws(SRTPError) -> [UInt8] {
        var buffer = packet + [UInt8](repeating: 0, count: SRTPContext.maximumOverhead)
        var result: Result<Int, SRTPError> = .failure(.malformed)
        buffer.withUnsafeMutableBytes { bytes in
            do throws(SRTPError) { result = .success(try body(bytes, packet.count)) } catch { result = .failure(error) }
        }
        return Array(buffer[0..<(try result.get())])
    }

    func keys(_ profile: SRTPProfile) -> (SRTPKeys, SRTPKeys) {
        let length = profile.keyLength + profile.saltLength
        let a = (0..<length).map { UInt8($0) }
        let b = (0..<length).map { UInt8(200 - $0) }
        return (SRTPKeys(profile: profile, local: a, remote: b), SRTPKeys(profile: profile, local: b, remote: a))
    }

    func rtp(_ sequence: UInt16, ssrc: UInt32 = 0x1234_5678, payload: [UInt8] = Array(repeating: 0x5A, count: 40))
        -> [UInt8]
    {
        var bytes: [UInt8] = [0x80, 96]
        bytes.append16(sequence)
        bytes.append32(UInt32(sequence) * 3000)
        bytes.append32(ssrc)
        return bytes + payload
    }

    func rtcp(ssrc: UInt32 = 0x1234_5678) -> [UInt8] {
        var bytes: [UInt8] = [0x80, 201, 0, 1]
        bytes.append32(ssrc)
        return bytes
    }
}
