/// The type and size of a PNG or JPEG file, read before anything is decoded.
///
/// Sources: PNG (RFC 2083 §3.2, §4.1.1), JPEG (ITU-T T.81 §B.1.1.3, §B.2.2).
struct StillImageHeader: Hashable {
    enum Format { case png, jpeg }

    var format: Format
    /// In pixels.
    var width: Int
    var height: Int
    /// The scans of a JPEG: each costs a pass over the picture, however few bytes it has.
    var scans = 1
    /// Whether the file has its end mark.
    var isComplete: Bool

    /// nil: the file is neither.
    init?(_ bytes: [UInt8]) {
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self.init(png: bytes)
        } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            self.init(jpeg: bytes)
        } else {
            return nil
        }
    }

    private init?(png bytes: [UInt8]) {
        guard bytes.count >= 33, bytes[12..<16].elementsEqual("IHDR".utf8) else { return nil }
        func number(_ offset: Int) -> Int { bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
        (format, width, height) = (.png, number(16), number(20))
        var offset = 8
        isComplete = false
        while offset + 12 <= bytes.count {
            if bytes[offset + 4..<offset + 8].elementsEqual("IEND".utf8) { isComplete = true }
            offset += 12 + number(offset)
        }
    }

    private init?(jpeg bytes: [UInt8]) {
        (format, width, height, scans, isComplete) = (.jpeg, 0, 0, 0, false)
        var offset = 2
        while offset + 4 <= bytes.count {
            guard bytes[offset] == 0xFF else {
                // Entropy-coded data of a scan: no byte after 0xFF but 0 and restart marks.
                offset += 1
                continue
            }
            let marker = bytes[offset + 1]
            switch marker {
            case 0xFF: offset += 1
            case 0x00, 0x01, 0xD0...0xD8: offset += 2
            case 0xD9:
                isComplete = true
                offset += 2
            default:
                let length = Int(bytes[offset + 2]) << 8 | Int(bytes[offset + 3])
                // SOF0…SOF15 without DHT, JPG and DAC.
                if (0xC0...0xCF).contains(marker), ![0xC4, 0xC8, 0xCC].contains(marker), offset + 9 <= bytes.count {
                    height = max(height, Int(bytes[offset + 5]) << 8 | Int(bytes[offset + 6]))
                    width = max(width, Int(bytes[offset + 7]) << 8 | Int(bytes[offset + 8]))
                }
                if marker == 0xDA { scans += 1 }
                offset += 2 + max(length, 2)
            }
        }
        if bytes.count >= 2, bytes.suffix(2).elementsEqual([0xFF, 0xD9]) { isComplete = true }
        guard width > 0, height > 0, scans > 0 else { return nil }
    }
}
