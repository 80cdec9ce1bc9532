package import Basics
import Cryptography

/// A STUN message (RFC 8489 §5) with the attributes that ICE uses (RFC 8445 §16).
package struct STUNMessage: Sendable {
    package enum Class: UInt16, Sendable {
        case request = 0, indication = 0x0010, success = 0x0100, failure = 0x0110
    }

    /// 96 random bits that match a response to its request.
    package struct TransactionID: Hashable, Sendable {
        package var high: UInt32
        package var low: UInt64

        package init(high: UInt32, low: UInt64) {
            self.high = high
            self.low = low
        }
    }

    package static let magicCookie: UInt32 = 0x2112_A442
    static let bindingMethod: UInt16 = 1
    static let headerLength = 20
    /// RFC 8489 §14.7.
    static let fingerprintMask: UInt32 = 0x5354_554E

    enum AttributeType {
        static let username: UInt16 = 0x0006
        static let messageIntegrity: UInt16 = 0x0008
        static let errorCode: UInt16 = 0x0009
        static let unknownAttributes: UInt16 = 0x000A
        static let xorMappedAddress: UInt16 = 0x0020
        static let priority: UInt16 = 0x0024
        static let useCandidate: UInt16 = 0x0025
        static let fingerprint: UInt16 = 0x8028
        static let iceControlled: UInt16 = 0x8029
        static let iceControlling: UInt16 = 0x802A
    }

    package var messageClass: Class
    package var transaction: TransactionID
    package var username: String?
    package var priority: UInt32?
    package var useCandidate = false
    /// The tie-breaker of ICE-CONTROLLING.
    package var iceControlling: UInt64?
    /// The tie-breaker of ICE-CONTROLLED.
    package var iceControlled: UInt64?
    package var xorMappedAddress: SocketAddress?
    package var errorCode: Int?
    /// Types below 0x8000 that we do not know: the request must be refused with 420 (RFC 8489 §6.3.1).
    package var unknownAttributes: [UInt16] = []
    /// Where MESSAGE-INTEGRITY begins, if there is one.
    package private(set) var integrityOffset: Int?
    package private(set) var hasFingerprint = false

    package init(_ messageClass: Class, transaction: TransactionID) {
        self.messageClass = messageClass
        self.transaction = transaction
    }

    /// Parses a Binding message; nil for everything else, for a wrong length and for a wrong FINGERPRINT.
    package init?(parsing bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.headerLength, bytes.count % 4 == 0 else { return nil }
        self.init(parsing: Span(_unsafeBytes: bytes), raw: bytes)
    }

    private init?(parsing span: Span<UInt8>, raw: UnsafeRawBufferPointer) {
        var reader = ByteReader(span)
        do throws(ByteReader.Truncated) {
            let type = try reader.readUInt16()
            let length = Int(try reader.readUInt16())
            guard type & 0xC000 == 0, try reader.readUInt32() == Self.magicCookie,
                length == raw.count - Self.headerLength,
                let messageClass = Class(rawValue: type & 0x0110), type & 0x3EEF == Self.bindingMethod
            else { return nil }
            self.init(
                messageClass, transaction: TransactionID(high: try reader.readUInt32(), low: try reader.readUInt64()))
            while reader.remaining > 0 {
                let start = reader.offset
                let type = try reader.readUInt16()
                let length = Int(try reader.readUInt16())
                let value = raw[try reader.take(length)]
                try reader.skip(-length & 3)
                // Only FINGERPRINT counts after MESSAGE-INTEGRITY (RFC 8489 §14.5).
                if integrityOffset != nil, type != AttributeType.fingerprint { continue }
                if type == AttributeType.fingerprint {
                    guard length == 4, reader.remaining == 0,
                        Self.checksum(raw[..<start]) ^ Self.fingerprintMask == Self.integer(value)
                    else { return nil }
                    hasFingerprint = true
                } else if type == AttributeType.messageIntegrity {
                    guard length == 20 else { return nil }
                    integrityOffset = start
                } else {
                    guard read(type, value) else { return nil }
                }
            }
        } catch {
            return nil
        }
    }

    private mutating func read(_ type: UInt16, _ value: Slice<UnsafeRawBufferPointer>) -> Bool {
        switch type {
        case AttributeType.username:
            guard value.count <= 513 else { return false }
            username = String(decoding: value, as: UTF8.self)
        case AttributeType.priority:
            guard value.count == 4 else { return false }
            priority = Self.integer(value)
        case AttributeType.useCandidate: useCandidate = true
        case AttributeType.iceControlling, AttributeType.iceControlled:
            guard value.count == 8 else { return false }
            let tieBreaker = value.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            if type == AttributeType.iceControlling { iceControlling = tieBreaker } else { iceControlled = tieBreaker }
        case AttributeType.xorMappedAddress: xorMappedAddress = readAddress(Array(value))
        case AttributeType.errorCode:
            let bytes = Array(value.prefix(4))
            guard bytes.count == 4 else { return false }
            errorCode = Int(bytes[2] & 7) * 100 + Int(bytes[3])
        case AttributeType.unknownAttributes: break
        case ..<0x8000: if unknownAttributes.count < 16 { unknownAttributes.append(type) }
        default: break
        }
        return true
    }

    private func readAddress(_ value: [UInt8]) -> SocketAddress? {
        guard value.count >= 8 else { return nil }
        let port = (UInt16(value[2]) << 8 | UInt16(value[3])) ^ UInt16(Self.magicCookie >> 16)
        let words = stride(from: 4, to: value.count & ~3, by: 4).map { index in
            value[index..<index + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        switch (value[1], words.count) {
        case (1, 1): return SocketAddress(.v4(words[0] ^ Self.magicCookie), port: port)
        case (2, 4):
            let high = UInt64(words[0]) << 32 | UInt64(words[1])
            let low = UInt64(words[2]) << 32 | UInt64(words[3])
            let mask = UInt64(Self.magicCookie) << 32 | UInt64(transaction.high)
            return SocketAddress(.v6(high ^ mask, low ^ transaction.low), port: port)
        default: return nil
        }
    }

    /// Whether the MESSAGE-INTEGRITY of `bytes`, from which this message was parsed, was computed with `password`.
    package func isAuthentic(_ bytes: UnsafeRawBufferPointer, password: String) -> Bool {
        guard let offset = integrityOffset, offset + 24 <= bytes.count else { return false }
        // RFC 8489 §14.5: the hash covers the message as if it ended with MESSAGE-INTEGRITY.
        var covered = Array(bytes[..<offset])
        Self.setLength(of: &covered, to: offset + 24 - Self.headerLength)
        return isEqual(Array(bytes[offset + 4..<offset + 24]), Self.hmac(covered, password: password))
    }

    /// Encodes the message, with MESSAGE-INTEGRITY if there is a password, and FINGERPRINT.
    package func encoded(password: String?) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(128)
        bytes.append16(messageClass.rawValue | Self.bindingMethod)
        bytes.append16(0)
        bytes.append32(Self.magicCookie)
        bytes.append32(transaction.high)
        bytes.append64(transaction.low)
        if let errorCode {
            let reason = Array(Self.reason(errorCode).utf8)
            let value =
                [0, 0, UInt8(truncatingIfNeeded: errorCode / 100), UInt8(truncatingIfNeeded: errorCode % 100)] + reason
            Self.append(AttributeType.errorCode, value, to: &bytes)
        }
        if messageClass == .failure, !unknownAttributes.isEmpty {
            var value: [UInt8] = []
            for type in unknownAttributes { value.append16(type) }
            Self.append(AttributeType.unknownAttributes, value, to: &bytes)
        }
        if let username { Self.append(AttributeType.username, Array(username.utf8), to: &bytes) }
        if let priority { Self.append(AttributeType.priority, Self.bytes(priority), to: &bytes) }
        for (type, tieBreaker) in [
            (AttributeType.iceControlling, iceControlling), (AttributeType.iceControlled, iceControlled),
        ] {
            if let tieBreaker {
                Self.append(
                    type, Self.bytes(UInt32(tieBreaker >> 32)) + Self.bytes(UInt32(truncatingIfNeeded: tieBreaker)),
                    to: &bytes)
            }
        }
        if useCandidate { Self.append(AttributeType.useCandidate, [], to: &bytes) }
        if let xorMappedAddress { Self.append(AttributeType.xorMappedAddress, xored(xorMappedAddress), to: &bytes) }
        if let password {
            Self.setLength(of: &bytes, to: bytes.count + 24 - Self.headerLength)
            Self.append(AttributeType.messageIntegrity, Self.hmac(bytes, password: password), to: &bytes)
        }
        Self.setLength(of: &bytes, to: bytes.count + 8 - Self.headerLength)
        let checksum = bytes.withUnsafeBytes { Self.checksum($0[...]) } ^ Self.fingerprintMask
        Self.append(AttributeType.fingerprint, Self.bytes(checksum), to: &bytes)
        return bytes
    }

    private func xored(_ address: SocketAddress) -> [UInt8] {
        var value: [UInt8] = [0]
        let port = address.port ^ UInt16(Self.magicCookie >> 16)
        switch address.ip {
        case .v4(let ip):
            value.append(1)
            value.append16(port)
            value.append32(ip ^ Self.magicCookie)
        case .v6(let high, let low):
            value.append(2)
            value.append16(port)
            value.append64(high ^ (UInt64(Self.magicCookie) << 32 | UInt64(transaction.high)))
            value.append64(low ^ transaction.low)
        }
        return value
    }

    static func append(_ type: UInt16, _ value: [UInt8], to bytes: inout [UInt8]) {
        bytes.append16(type)
        bytes.append16(UInt16(truncatingIfNeeded: value.count))
        bytes.append(contentsOf: value)
        for _ in 0..<(-value.count & 3) { bytes.append(0) }
    }

    static func setLength(of bytes: inout [UInt8], to length: Int) {
        bytes[2] = UInt8(truncatingIfNeeded: length >> 8)
        bytes[3] = UInt8(truncatingIfNeeded: length)
    }

    private static func bytes(_ value: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append32(value)
        return bytes
    }

    private static func integer(_ value: Slice<UnsafeRawBufferPointer>) -> UInt32 {
        value.reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func reason(_ code: Int) -> String {
        switch code {
        case 400: "Bad Request"
        case 401: "Unauthenticated"
        case 420: "Unknown Attribute"
        case 487: "Role Conflict"
        default: "Error"
        }
    }

    static func hmac(_ bytes: [UInt8], password: String) -> [UInt8] {
        HashFunction.sha1.authenticationCode(bytes, key: Array(password.utf8))
    }

    /// CRC-32 of ITU V.42, byte by byte with a table (RFC 8489 §14.7).
    private static func checksum(_ bytes: Slice<UnsafeRawBufferPointer>) -> UInt32 {
        var crc: UInt32 = 0xFFFF_FFFF
        for byte in bytes { crc = crc >> 8 ^ crcTable[Int(UInt8(truncatingIfNeeded: crc) ^ byte)] }
        return ~crc
    }

    private static let crcTable: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { crc, _ in crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
    }
}
