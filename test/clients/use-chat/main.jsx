import { createRoot } from 'react-dom/client';
import { Chat } from './page.jsx';

createRoot(document.getElementById('root')).render(<Chat />);
