import Peer

/// Why a request was refused: the case for programs, `message` for people.
package enum ConferenceError: Error, Hashable, Sendable, CustomStringConvertible {
    case roomNotFound(String)
    case participantNotFound(String)
    case recordingNotFound(String)
    case streamNotFound(String)
    case inputNotFound(String)
    /// There is no such guest link, or it has ended or was revoked.
    case guestLinkNotFound
    case roomFull(String)
    case roomLocked(String)
    case pinRequired(String)
    case wrongPIN(String)
    /// A moderator has to let the client in first: see `Conference.wait`.
    case mustWait(String)
    case unknownLayout(String)
    case unknownView(String, known: [String])
    /// The faults of a layout file, each `FILE:LINE:COLUMN: fault; remedy`.
    case badLayout([String])
    /// The layout is in use or built in and cannot be deleted.
    case layoutInUse(String)
    case badSDP(String)
    case noCommonCodec(String)
    case badRequest(String)
    case forbidden(String)
    /// A resume with an unknown or expired id or secret.
    case unauthorized(String)
    case overloaded
    /// A limit of the whole server is reached (rooms, seats, half-open peers), named in the sentence.
    case atCapacity(String, retryAfter: Duration)
    /// One client asks for too much or too often, named in the sentence.
    case tooFast(String, retryAfter: Duration)
    case draining
    /// The room is moving to another server.
    case moving(String)
    case recordingRunning(String)
    /// The recording is finished, or is being finished, and cannot change any more.
    case recordingNotRunning(String)
    /// The request does not fit the present state.
    case conflict(String)
    case recordingFailed(String)
    /// There is no such picture (any more).
    case pictureNotFound
    /// The bytes are no picture of a known format.
    case badPicture(String)
    case tooLarge(String)
    /// The server cannot store pictures.
    case pictureFailed(String)
    /// The system refuses the media ports that the configuration names.
    case configuration(String)
    case internalFailure(String)

    /// The disk of a folder has not answered for as long as a request waits.
    static func noAnswer(ofDisk folder: String) -> ConferenceError {
        .atCapacity("The disk of the \(folder) does not answer: try again later.", retryAfter: .seconds(30))
    }

    package var message: String {
        switch self {
        case .roomNotFound(let id): "There is no room “\(id)”."
        case .participantNotFound(let id): "There is no participant “\(id)”."
        case .recordingNotFound(let id): "There is no recording “\(id)”."
        case .streamNotFound(let id): "There is no stream “\(id)” here."
        case .inputNotFound(let id): "There is no input “\(id)” here."
        case .guestLinkNotFound: "There is no such guest link (any more)."
        case .roomFull(let id): "Room “\(id)” is full."
        case .roomLocked(let id): "Room “\(id)” is locked: it must be opened first."
        case .pinRequired(let id): "Room “\(id)” asks for a PIN."
        case .wrongPIN(let id): "That is not the PIN of room “\(id)”."
        case .mustWait(let id):
            "A moderator of room “\(id)” has to let you in, for which this client cannot wait: open the room's page in a browser."
        case .unknownLayout(let name): "There is no layout “\(name)”."
        case .unknownView(let name, let known):
            "There is no view “\(name)” here; there are \(known.joined(separator: ", "))."
        case .badLayout(let faults): faults.joined(separator: "\n")
        case .layoutInUse(let name): "Layout “\(name)” is in use."
        case .badSDP(let text), .noCommonCodec(let text), .badRequest(let text), .forbidden(let text),
            .unauthorized(let text),
            .conflict(let text):
            text
        case .overloaded: "The server has all the calls that it can carry: try again in a few seconds."
        case .draining: "The server is going down: try again in a few seconds."
        case .moving(let id): "Room “\(id)” is moving to another server: try again in a second."
        case .recordingRunning(let room): "Room “\(room)” is being recorded already."
        case .recordingNotRunning(let id): "Recording “\(id)” does not run any more."
        case .recordingFailed(let text), .badPicture(let text), .tooLarge(let text), .pictureFailed(let text),
            .configuration(let text), .internalFailure(let text):
            text
        case .pictureNotFound: "There is no such picture (any more)."
        case .atCapacity(let text, _), .tooFast(let text, _): text
        }
    }

    /// The time after which to try again; nil where trying again changes nothing.
    package var retryAfter: Duration? {
        switch self {
        case .atCapacity(_, let wait), .tooFast(_, let wait): wait
        case .overloaded: .seconds(5)
        // A server that is stopped to be started again is back within seconds.
        case .draining, .moving: .seconds(1)
        default: nil
        }
    }

    package var description: String { message }
}

extension ConferenceError {
    /// Wraps a failure of a session description, or of the work with one.
    init(_ error: any Error) {
        switch error {
        case let error as ConferenceError: self = error
        case let error as SDPError:
            self =
                switch error.code {
                case .malformed: .badSDP(error.description)
                case .noCommonCodec: .noCommonCodec(error.description)
                }
        default: self = .internalFailure("\(error)")
        }
    }
}
