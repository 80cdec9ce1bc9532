import Cryptography
import FoundationEssentials

/// A password's salted scrypt hash (RFC 7914), with its cost, so that a later version can raise it.
struct PasswordHash: Codable, Equatable, Sendable {
    /// The work for one hash.
    struct Cost: Codable, Equatable, Sendable {
        /// N, a power of two; a hash needs 128 · `rounds` · `blockSize` bytes of memory.
        var rounds: Int
        var blockSize: Int
        var parallelism: Int

        /// 16 MiB and some 0.2 s: one of the settings of OWASP's Password Storage Cheat Sheet.
        static let usual = Cost(rounds: 1 << 14, blockSize: 8, parallelism: 5)
        /// The costs that a file may name: more would stop the server for minutes.
        var isSane: Bool {
            (2...(1 << 17)).contains(rounds) && rounds.nonzeroBitCount == 1 && (1...16).contains(blockSize)
                && (1...16).contains(parallelism)
        }
    }

    var cost: Cost
    var salt: Data
    var key: Data

    private static let saltBytes = 16
    private static let keyBytes = 32

    init(_ password: String, cost: Cost) throws(CryptographyError) {
        self.cost = cost
        salt = Data(randomBytes(PasswordHash.saltBytes))
        key = Data(try PasswordHash.key(password, salt, cost))
    }

    /// Whether this is the password's hash. Takes as long as hashing.
    func matches(_ password: String) -> Bool {
        guard cost.isSane, let other = try? PasswordHash.key(password, salt, cost) else { return false }
        return isEqual(Array(key), other)
    }

    private static func key(_ password: String, _ salt: Data, _ cost: Cost) throws(CryptographyError) -> [UInt8] {
        let work = KeyDerivation.ScryptCost(
            rounds: cost.rounds, blockSize: cost.blockSize, parallelism: cost.parallelism)
        return try KeyDerivation.scrypt(Array(password.utf8), salt: Array(salt), work, count: keyBytes)
    }
}
